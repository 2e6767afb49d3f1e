"""What is printed fits a terminal, and what is to be copied can be."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

from logs import CUT_CASE, header, release, section, verdict, write_run
from rich.console import Console

from conformance import events
from conformance.changes import between_neighbours
from conformance.events import Status
from conformance.reports import matrix, terminal


def console() -> tuple[Console, io.StringIO]:
    """Eighty columns wide."""
    output = io.StringIO()
    return Console(file=output, width=80), output


def test_four_releases_fit_a_terminal() -> None:
    """Their names are whole, and columns that would hold nothing but 0 are left out."""
    laws = {"BIN-001": Status.PASSED, "BIN-002": Status.FAILED_AS_EXPECTED, "BIN-003": Status.NOT_SUPPORTED}
    names = ("0.3.1", "0.4.2", "0.5.1", "0.6.2")
    sections = [release(version, laws).section for version in names]
    screen, output = console()
    matrix.print_matrix(screen, sections, between_neighbours(sections))
    for version in names:
        assert f"megatron-bridge=={version}" in output.getvalue().partition("from ")[0]
    head = output.getvalue().splitlines()[1]
    assert all(word in head for word in ("target", "passed", "known"))
    assert not any(word in head for word in ("failed", "stale", "errors"))
    assert "\N{HORIZONTAL ELLIPSIS}" not in output.getvalue()


def test_a_replay_command_is_one_line_that_can_be_pasted(tmp_path: Path) -> None:
    """However long the folder, and whatever the target is called."""
    broken = verdict("CPX-001", Status.FAILED, case=f"cases/{CUT_CASE.file_name}")
    made = section(header("module:a; rm -rf x"), broken)
    folder = write_run(tmp_path / ("long folder " * 10).strip(), made, recorded=(CUT_CASE,))
    screen, output = console()
    terminal.print_section(screen, events.read(folder / "events.jsonl")[0], folder)
    (line,) = [line for line in output.getvalue().splitlines() if line.startswith("packproof replay")]
    case = str(folder / "cases" / CUT_CASE.file_name)
    assert shlex.split(line) == ["packproof", "replay", case, "--target", "module:a; rm -rf x"]
