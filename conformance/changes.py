"""What changed between two targets, such as neighbouring releases; from their sections of the event log alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from conformance.enforced_rules import enforced_rules
from conformance.events import Section
from conformance.law_changes import Change, changed
from conformance.results import suites


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
        broken, fixed, lost, gained, new, gone, unclear, baseline: keys of laws, by the kind of change.
        versions: releases of packages.
        places: import paths of parts that moved, came or went.
        defaults: settings that came, went, or have another default.
        policies: declared policies.
        rules: config rules by whether the target enforces them.
        pass_targets: passed tests of suites.
    """

    before: str
    after: str
    broken: tuple[str, ...]
    fixed: tuple[str, ...]
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]
    unclear: tuple[str, ...]
    baseline: tuple[str, ...]
    versions: tuple[Difference, ...]
    places: tuple[Difference, ...]
    defaults: tuple[Difference, ...]
    policies: tuple[Difference, ...]
    rules: tuple[Difference, ...]
    pass_targets: tuple[Difference, ...]


def between_neighbours(sections: Sequence[Section]) -> tuple[Changes, ...]:
    """Changes from each target to the next."""
    return tuple(between(before, after) for before, after in pairwise(sections))


def between(before: Section, after: Section) -> Changes:
    """Changes from one target to another; what became of a law is decided by ``law_changes``."""
    kinds = changed(before, after)
    laws = {str(kind): tuple(key for key, found in kinds.items() if found is kind) for kind in Change}
    return Changes(
        before=before.header.target,
        after=after.header.target,
        **laws,
        versions=differences(before.header.versions, after.header.versions),
        places=differences(before.header.places, after.header.places),
        defaults=differences(before.header.defaults, after.header.defaults),
        policies=differences(before.header.policies, after.header.policies),
        rules=differences(enforced_rules(before), enforced_rules(after)),
        pass_targets=differences(_passed(before), _passed(after)),
    )


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Difference, ...]:
    """Names whose values differ, those of ``before`` first."""
    return tuple(_differences(before, after))


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield Difference(name, before.get(name), after.get(name))


def _passed(section: Section) -> dict[str, str]:
    return {result.name: f"{result.passed} of {result.expected}" for result in suites(section)}
