"""The verification of a checkout, and what is to be said about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from conformance.exit_codes import ExitCode
from conformance.upstream_plugin import Environment


@dataclass(frozen=True)
class TestResult:
    """What became of one selected test."""

    __test__ = False  # for pytest: no test itself

    name: str
    outcome: Literal["passed", "failed", "skipped", "not run"]
    message: str = ""


@dataclass(frozen=True)
class CommandResult:
    """One command of the document.

    Attributes:
        command: the command as it was run.
        claimed: the count that the document claims.
        expected: the count that must be met; without it, every selected test.
        tests: the selected tests.
        refused: why it was not run.
        broken: why its process came to no end, or what could not be collected.
        needs_gpu: how many of the expected tests may be skipped on a machine without a GPU.
    """

    command: str
    claimed: int | None
    expected: int | None
    tests: tuple[TestResult, ...] = ()
    refused: str | None = None
    broken: str | None = None
    needs_gpu: int = 0

    @property
    def selected(self) -> int:
        """Number of selected tests."""
        return len(self.tests)

    @property
    def passed(self) -> int:
        """Number of passed tests."""
        return self.count("passed")

    def count(self, outcome: str) -> int:
        """Number of tests with an outcome."""
        return sum(test.outcome == outcome for test in self.tests)

    @property
    def met(self) -> bool:
        """Whether the command meets what is expected of it; one that cannot be run is met where that is recorded."""
        if self.refused or self.broken:
            return self.refused is not None and self.expected == 0
        if self.expected is None:
            return 0 < self.selected == self.passed
        excused = min(self.count("skipped"), self.needs_gpu)
        return self.passed + excused == self.expected and self.count("failed") == 0


@dataclass(frozen=True, kw_only=True)
class UpstreamReport:
    """The verification of a checkout; its texts hold no control characters.

    Attributes:
        checkout: its folder.
        release: its release.
        source: where the commands and claims come from.
        expectation: what was expected, and by whom.
        environment: how the checkout was imported; None where no process got that far.
        commands: the commands, in order.
        notes: what a reader has to know to judge the counts.
        findings: what is wrong, in words: stale claims, refused commands, unmet counts.
        verdict: the exit code.
    """

    checkout: str
    release: str
    source: str
    expectation: str
    environment: Environment | None
    commands: tuple[CommandResult, ...]
    notes: tuple[str, ...]
    findings: tuple[str, ...]
    verdict: ExitCode

    def count(self, outcome: str) -> int:
        """Number of tests with an outcome, over all commands."""
        return sum(command.count(outcome) for command in self.commands)

    @property
    def last_line(self) -> str:
        """The line that every command of packproof ends with."""
        return f"{self.count('passed')} passed, {self.count('failed')} failed, {self.count('skipped')} skipped"

    def to_json(self) -> bytes:
        """The report with its counts, indented."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        for entry, command in zip(document["commands"], self.commands, strict=True):
            entry.update(selected=command.selected, passed=command.passed, met=command.met)
        return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def printable(text: str) -> str:
    """Text from outside without control characters, which could rewrite a terminal or a report."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def merged(environments: Sequence[Environment]) -> Environment | None:
    """What all processes used together."""
    if not environments:
        return None
    stand_ins = {name for environment in environments for name in environment.stand_ins}
    return msgspec.structs.replace(environments[-1], stand_ins=tuple(sorted(stand_ins)))


def notes(environment: Environment | None) -> tuple[str, ...]:
    """How the checkout was imported, in words."""
    if environment is None:
        return ()
    how = "with the whole stack" if environment.how == "plain" else "isolated: lazy packages, no TransformerEngine"
    told = [f"megatron.bridge was imported {how} ({_listed(environment.versions)})."]
    if environment.stand_ins:
        told.append(f"Stand-ins took the place of what is not installed: {', '.join(environment.stand_ins)}.")
    if environment.replaced:
        told.append(f"No GPU is here, so .cuda() stayed on the CPU ({', '.join(environment.replaced)}).")
    else:
        told.append("A GPU is here, and .cuda() moved to it.")
    return tuple(told)


def _listed(versions: Mapping[str, str]) -> str:
    return printable(", ".join(f"{name} {version}" for name, version in versions.items()))


def findings(source: str, results: Sequence[CommandResult]) -> Iterator[str]:
    """What is wrong, in words."""
    for position, result in enumerate(results, start=1):
        name = f"Command {position}"
        if result.refused:
            yield f"{name} was refused: {result.refused}."
            continue
        if result.broken:
            yield f"{name} came to no end: {result.broken}."
            continue
        if result.claimed is not None and result.claimed != result.selected:
            counts = f"{result.selected} tests are selected and {result.passed} passed"
            yield f"{name}: the claim of {result.claimed} passed is stale: {counts} ({source})."
        without_gpu = [test for test in result.tests if test.outcome == "skipped"]
        if result.met and without_gpu:
            yield f"{name}: {len(without_gpu)} of {result.selected} cannot run here: {_reasons(without_gpu)}."
        if not result.met:
            expected = (
                "every selected test passed" if result.expected is None else f"{result.expected} passed, 0 failed"
            )
            counts = f"{result.passed} passed, {result.count('failed')} failed, {result.count('skipped')} skipped"
            yield f"{name}: expected {expected}; of {result.selected} selected, {counts}."


def _reasons(tests: Sequence[TestResult]) -> str:
    """Why tests were skipped, each reason once."""
    return "; ".join(dict.fromkeys(test.message.removeprefix("Skipped: ") for test in tests))


def verdict(results: Sequence[CommandResult]) -> ExitCode:
    """Exit code of a verification."""
    if any(result.broken for result in results):
        return ExitCode.TARGET
    if not any(result.selected for result in results):
        return ExitCode.NOTHING_RAN
    return ExitCode.OK if all(result.met for result in results) else ExitCode.PASS_TARGET
