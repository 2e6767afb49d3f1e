"""From a run to a baseline: an entry and a case for every deviation found."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec

from conformance import baseline, cases
from conformance.baseline import Deviation
from conformance.cases import write_atomically
from conformance.events import Section, Status, Verdict

REVIEW_AFTER = datetime.timedelta(days=180)
"""A deviation that nobody has looked at for half a year deserves a look."""


def write(section: Section, report: Path, path: Path, today: datetime.date) -> int:
    """Write the deviations of a run as a baseline; what an earlier version of the file says of one is kept.

    Args:
        section: the run; one with verdicts that are not the target's fault is not meant for this.
        report: folder that holds the run's cases.
        path: baseline to write; cases go to ``cases/<name of the baseline>`` beside it.
        today: from which ``review_by`` of new entries counts.

    Returns:
        Number of entries.

    Raises:
        BaselineError: the file exists and is malformed.
        CaseError: a case is missing or malformed.
    """
    known = {entry.key: entry for entry in baseline.read(path).deviations} if path.exists() else {}
    found = [verdict for verdict in section.verdicts if verdict.verdict in {Status.FAILED, Status.FAILED_AS_EXPECTED}]
    entries = [
        _entry(verdict, known.get(verdict.key), report, path, today)
        for verdict in sorted(found, key=lambda verdict: (verdict.law, verdict.facet))
    ]
    plain = [msgspec.to_builtins(entry, builtin_types=(datetime.date,)) for entry in entries]
    kept = [{name: value for name, value in entry.items() if value} for entry in plain]
    write_atomically(path, msgspec.toml.encode({"deviation": kept}))
    return len(entries)


def _entry(verdict: Verdict, known: Deviation | None, report: Path, path: Path, today: datetime.date) -> Deviation:
    if known:
        return known
    case = None
    if verdict.case:
        recorded = cases.read(report / verdict.case)
        case = f"cases/{path.stem}/{recorded.file_name}"
        cases.write(recorded, path.parent / case)
    return Deviation(
        law=verdict.law,
        facet=verdict.facet,
        case=case,
        harm=verdict.harm,
        since=verdict.target_version,
        until=verdict.target_version,
        review_by=today + REVIEW_AFTER,
    )
