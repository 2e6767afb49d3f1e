"""The columns of a page: one log section each, with the names that queries know it by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.events import Header, Section, Status, Verdict
from conformance.results import LOUD, SuiteResult, suites, troubles

LOUD_WORDS = {
    Status.FAILED: ("new deviation", "new deviations"),
    Status.STALE: ("stale baseline entry", "stale baseline entries"),
    Status.HARNESS_ERROR: ("harness error", "harness errors"),
    Status.ENVIRONMENT_ERROR: ("environment error", "environment errors"),
}
"""One and several."""


@dataclass(frozen=True)
class Log:
    """One section of an event log, and where its cases lie; or several, merged.

    Attributes:
        section: header, verdicts and footer.
        folder: folder of the log; paths of cases are relative to it. None when the cases are not kept.
        name: tells runs of one target apart, such as the folder as the user wrote it.
        merged: the logs that it was merged of, () for the log of one run.
        origins: number of the log in ``merged`` that a verdict comes from, by key of the law.
    """

    section: Section
    folder: Path | None = None
    name: str = ""
    merged: tuple[Log, ...] = ()
    origins: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def runs(self) -> tuple[Log, ...]:
        """The logs of single runs: those merged, or this one."""
        return self.merged or (self,)

    def origin(self, key: str) -> int:
        """Number in ``runs`` of the one that the verdict on a law comes from."""
        return self.origins.get(key, 0)


@dataclass(frozen=True)
class Column:
    """A log on the page.

    Attributes:
        log: what is shown.
        handle: short unique name.
        names: everything that a query may call it, the handle first.
        verdicts: by key of the law.
    """

    log: Log
    handle: str
    names: tuple[str, ...]
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])

    @property
    def section(self) -> Section:
        """The log's section."""
        return self.log.section

    @property
    def total(self) -> int:
        """Laws that a complete run decides: a truncated run has fewer verdicts than it planned."""
        return max(len(self.verdicts), self.section.header.planned - len(self.section.pass_targets))

    @property
    def counts(self) -> dict[Status, int]:
        """Laws by verdict."""
        found = Counter(verdict.verdict for verdict in self.verdicts.values())
        return {status: found[status] for status in Status}

    @property
    def share(self) -> str:
        """Share of all laws that passed; a law that the target does not support did not pass."""
        return f"{100 * self.counts[Status.PASSED] / self.total:.1f} %" if self.total else "none"

    @property
    def loud(self) -> str:
        """What makes the run red, in words; "" when nothing does."""
        found = [(self.counts[status], LOUD_WORDS[status]) for status in LOUD if self.counts[status]]
        return ", ".join(f"{count} {words[count > 1]}" for count, words in found)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the run as a whole; of a truncated run the page says more."""
        return () if self.section.truncated else tuple(trouble.message for trouble in troubles(self.section))

    @property
    def suites(self) -> tuple[SuiteResult, ...]:
        """Pass targets."""
        return suites(self.section)


def columns(logs: Sequence[Log]) -> list[Column]:
    """Columns with unique handles: the release, or what else tells them apart."""
    releases = [release(log.section.header) for log in logs]
    named = [f"{log.name}:{short}" if log.name else short for log, short in zip(logs, releases, strict=True)]
    handles: list[str] = []
    for number, short in enumerate(releases):
        unique = releases.count(short) == 1
        better = named[number] if named.count(named[number]) == 1 else f"{named[number]}#{number + 1}"
        handles.append(short if unique else better)
    return [
        Column(log, handle, _names(log, handle), {verdict.key: verdict for verdict in log.section.verdicts})
        for log, handle in zip(logs, handles, strict=True)
    ]


def release(header: Header) -> str:
    """A target with its release, as short as can be."""
    if "==" in header.target or not header.target_version or header.target == "reference":
        return header.target
    separator = " " if "@" in header.target else "=="
    return f"{header.target}{separator}{header.target_version}"


def _names(log: Log, handle: str) -> tuple[str, ...]:
    header = log.section.header
    kind = header.target.partition("==")[0].partition("@")[0]
    names = [handle, header.target, f"{kind}=={header.target_version}", header.target_version, log.name]
    return tuple(dict.fromkeys(name for name in names if name))
