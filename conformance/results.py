"""What a run comes to: counts, pass targets and the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.events import PassTarget, Section, Status
from conformance.exit_codes import ExitCode
from conformance.pass_targets import SUITES

LOUD = (Status.FAILED, Status.STALE, Status.HARNESS_ERROR, Status.ENVIRONMENT_ERROR)
"""Verdicts that make a run red."""

PRECEDENCE = (
    ExitCode.USAGE,
    ExitCode.HARNESS,
    ExitCode.TARGET,
    ExitCode.NOTHING_RAN,
    ExitCode.DEVIATION,
    ExitCode.STALE,
    ExitCode.PASS_TARGET,
    ExitCode.OK,
)
"""The most fundamental trouble first: what makes the others meaningless decides."""


@dataclass(frozen=True)
class SuiteResult:
    """One pass-target suite on one target.

    Attributes:
        name: of the suite.
        title: what it covers.
        expected: tests that must pass.
        passed: tests that do.
        failing: those that do not.
    """

    name: str
    title: str
    expected: int
    passed: int
    failing: tuple[PassTarget, ...]

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.passed == self.expected and not self.failing


def suites(section: Section) -> tuple[SuiteResult, ...]:
    """Pass targets of a section; a target that lacks the operation is not held to the suite."""
    return tuple(
        SuiteResult(
            suite.name,
            suite.title,
            suite.expected,
            sum(test.verdict is Status.PASSED for test in tests),
            tuple(test for test in tests if test.verdict is not Status.PASSED),
        )
        for suite in SUITES
        if suite.operation in section.header.operations
        and (tests := [test for test in section.pass_targets if test.suite == suite.name])
    )


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a run as a whole, where no verdict says it.

    Attributes:
        name: what ought to hold.
        message: what does not.
    """

    name: str
    message: str


def troubles(section: Section) -> tuple[Trouble, ...]:
    """What makes a run red beside its verdicts, so that no report is green where the exit code is not 0."""
    if section.footer is None:
        return (Trouble("the run comes to its end", "the run is truncated: not every law has a verdict"),)
    found = [Trouble("the baseline names laws that exist", problem) for problem in section.footer.problems]
    found += [
        Trouble(f"pass target {suite.name}", f"{suite.passed} of {suite.expected} tests passed, and none failed")
        for suite in suites(section)
        if not suite.met and not any(test.verdict is Status.FAILED for test in suite.failing)
    ]
    if section.footer.exit_code is ExitCode.NOTHING_RAN:
        found.append(Trouble("something is measured", "nothing ran: the target supports nothing that was asked of it"))
    return tuple(found)


def counts(sections: Sequence[Section]) -> tuple[str, str]:
    """The last two lines of a run; laws and pass-target tests together."""
    found = Counter(verdict.verdict for section in sections for verdict in section.verdicts)
    found += Counter(test.verdict for section in sections for test in section.pass_targets)
    failed = sum(found[status] for status in LOUD)
    return (
        f"{found[Status.FAILED_AS_EXPECTED]} failed as expected, {found[Status.NOT_SUPPORTED]} not supported",
        f"{found[Status.PASSED]} passed, {failed} failed, {found[Status.NOT_SUPPORTED]} skipped",
    )


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The code of several targets together."""
    return min(codes, key=PRECEDENCE.index, default=ExitCode.NOTHING_RAN)


def exit_code(section: Section, *, unknown_entries: int = 0) -> ExitCode:
    """The one exit code of a section; the first that applies, the most fundamental trouble first."""
    found = {verdict.verdict for verdict in section.verdicts}
    ran = found - {Status.NOT_SUPPORTED} or any(test.verdict is Status.PASSED for test in section.pass_targets)
    return worst(
        code
        for code, applies in {
            ExitCode.TARGET: Status.ENVIRONMENT_ERROR in found,
            ExitCode.HARNESS: Status.HARNESS_ERROR in found,
            ExitCode.NOTHING_RAN: not ran,
            ExitCode.DEVIATION: Status.FAILED in found,
            ExitCode.STALE: Status.STALE in found or unknown_entries,
            ExitCode.PASS_TARGET: not all(suite.met for suite in suites(section)),
            ExitCode.OK: True,
        }.items()
        if applies
    )
