"""What became of a law between two runs: of two releases, or of the same one on two days.

    before            after             change
    passed            failed            broken
    failed            passed            fixed
    not supported     passed, failed    gained
    passed, failed    not supported     lost
    (no such law)     anything          new
    anything          (no such law)     gone
    failed            as expected       baseline: the same behaviour, listed by now
    anything          harness error     unclear

An error that is the target's fault, such as a crash, counts as a failure. Of a law that a truncated run did not come
to, nothing is known, so it is neither new nor gone.
"""

from __future__ import annotations

from enum import StrEnum

from conformance.events import Blame, Section, Status, Verdict


class Change(StrEnum):
    """Kinds of change, the most urgent first."""

    BROKEN = "broken"
    FIXED = "fixed"
    LOST = "lost"
    GAINED = "gained"
    NEW = "new"
    GONE = "gone"
    UNCLEAR = "unclear"
    BASELINE = "baseline"


class Behaviour(StrEnum):
    """What a verdict says of the target, whatever the baseline makes of it."""

    HOLDS = "holds"
    FAILS = "fails"
    LACKS = "lacks"
    UNKNOWN = "unknown"


def behaviour(verdict: Verdict) -> Behaviour:
    """What a verdict says of the target."""
    if verdict.verdict in {Status.PASSED, Status.STALE}:
        return Behaviour.HOLDS
    if verdict.verdict is Status.NOT_SUPPORTED:
        return Behaviour.LACKS
    return Behaviour.FAILS if verdict.blame is Blame.TARGET else Behaviour.UNKNOWN


def behaviours(section: Section) -> dict[str, Behaviour]:
    """What a run says of its target, by key of the law."""
    return {verdict.key: behaviour(verdict) for verdict in section.verdicts}


_CHANGES = {
    (Behaviour.HOLDS, Behaviour.FAILS): Change.BROKEN,
    (Behaviour.FAILS, Behaviour.HOLDS): Change.FIXED,
    (Behaviour.HOLDS, Behaviour.LACKS): Change.LOST,
    (Behaviour.FAILS, Behaviour.LACKS): Change.LOST,
    (Behaviour.LACKS, Behaviour.HOLDS): Change.GAINED,
    (Behaviour.LACKS, Behaviour.FAILS): Change.GAINED,
}
_LISTINGS = ({Status.FAILED, Status.FAILED_AS_EXPECTED}, {Status.PASSED, Status.STALE})
"""Verdicts that differ by what the baseline lists, not by what the target does."""


def change(before: Verdict | None, after: Verdict | None) -> Change | None:
    """What changed between two verdicts on one law; None when nothing did."""
    if before is None or after is None:
        return None if before is after else Change.NEW if before is None else Change.GONE
    old, new = behaviour(before), behaviour(after)
    if old is not new:
        return _CHANGES.get((old, new), Change.UNCLEAR)
    if before.verdict is after.verdict:
        return None
    return Change.BASELINE if {before.verdict, after.verdict} in _LISTINGS else Change.UNCLEAR


def changed(before: Section, after: Section) -> dict[str, Change]:
    """What changed between two runs, by key of the law; laws that did not change are left out."""
    old, new = ({verdict.key: verdict for verdict in section.verdicts} for section in (before, after))
    kinds = {key: change(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())}
    unknown = {Change.NEW} if before.truncated else set[Change]()
    unknown |= {Change.GONE} if after.truncated else set[Change]()
    return {key: kind for key, kind in kinds.items() if kind and kind not in unknown}
