"""What the exit code of every command says; never a count."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `packproof`, the same for all commands."""

    OK = 0
    """Everything that was held against something held."""
    DEVIATION = 1
    """A deviation that no baseline lists, or a rule that a file or a config breaks."""
    USAGE = 2
    """The command was called with something it cannot work on."""
    STALE = 3
    """A baseline entry that passes by now, or that names something unknown."""
    TARGET = 4
    """The target could not be loaded, or it crashed or hung."""
    NOTHING_RAN = 5
    """No law and no test ran, so nothing is known."""
    HARNESS = 6
    """The self-check of the harness failed: its verdicts cannot be trusted."""
    PASS_TARGET = 7
    """A pass target, such as 8/14/2, was not met."""
