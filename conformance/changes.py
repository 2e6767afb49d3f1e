"""What changed between two targets, such as neighbouring releases; from their sections of the event log alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from conformance.events import Section, Status
from conformance.results import suites

BROKEN = frozenset({Status.FAILED, Status.FAILED_AS_EXPECTED})
"""The target deviates, whether or not a baseline knows."""

HELD = frozenset({Status.PASSED, Status.STALE})
"""The target does not deviate; in a stale entry only the baseline is wrong."""


@dataclass(frozen=True)
class Difference:
    """One named value on both sides; None where a side lacks it."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Changes:
    """From one target to the next.

    Attributes:
        before, after: target specifications.
        fixed: keys of laws that were broken and hold now.
        broken: keys of laws that held and are broken now.
        lost: keys of laws that had a verdict and are not supported now.
        gained: keys of laws that were not supported and have a verdict now.
        versions: releases of packages.
        places: import paths of parts that moved, came or went.
        defaults: settings that came, went, or have another default.
        policies: declared policies.
        pass_targets: passed tests of suites.
    """

    before: str
    after: str
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    versions: tuple[Difference, ...]
    places: tuple[Difference, ...]
    defaults: tuple[Difference, ...]
    policies: tuple[Difference, ...]
    pass_targets: tuple[Difference, ...]


def between_neighbours(sections: Sequence[Section]) -> tuple[Changes, ...]:
    """Changes from each target to the next."""
    return tuple(between(before, after) for before, after in pairwise(sections))


def between(before: Section, after: Section) -> Changes:
    """Changes from one target to another; a law that only one of them has a verdict for is left out."""
    old, new = statuses(before), statuses(after)
    common = sorted(old.keys() & new.keys())
    decided = BROKEN | HELD

    def moved(was: frozenset[Status], became: frozenset[Status]) -> tuple[str, ...]:
        return tuple(key for key in common if old[key] in was and new[key] in became)

    return Changes(
        before=before.header.target,
        after=after.header.target,
        fixed=moved(BROKEN, HELD),
        broken=moved(HELD, BROKEN),
        lost=moved(decided, frozenset({Status.NOT_SUPPORTED})),
        gained=moved(frozenset({Status.NOT_SUPPORTED}), decided),
        versions=differences(before.header.versions, after.header.versions),
        places=differences(before.header.places, after.header.places),
        defaults=differences(before.header.defaults, after.header.defaults),
        policies=differences(before.header.policies, after.header.policies),
        pass_targets=differences(_passed(before), _passed(after)),
    )


def statuses(section: Section) -> dict[str, Status]:
    """Verdict of each law by its key."""
    return {verdict.key: verdict.verdict for verdict in section.verdicts}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Difference, ...]:
    """Names whose values differ, those of ``before`` first."""
    return tuple(_differences(before, after))


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield Difference(name, before.get(name), after.get(name))


def _passed(section: Section) -> dict[str, str]:
    return {result.name: f"{result.passed} of {result.expected}" for result in suites(section)}
