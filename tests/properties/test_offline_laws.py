"""The laws of the offline half: they hold on the reference, and each known bug is caught."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from properties.law import Inputs, Law, Verdict, catalogue
from properties.museum import Bug, museum
from reference_impl.interface import Op
from reference_impl.reference import ReferenceImplementation

AREAS = ("BIN", "HST", "STR", "FIL", "PAD", "PCK", "ROW", "EPO", "COL")
PACKING = {Op.ASSIGN_BINS, Op.HISTOGRAM, Op.PACKING_STRATEGY, Op.FILL, Op.PAD_DOCUMENT, Op.PACK_DOCUMENTS}
FILES = {Op.PREPARE, Op.WRITE_ROWS, Op.READ_ROWS}
BATCHES = {Op.EPOCH_ORDER, Op.COLLATE}

LAWS = {key: law for key, law in catalogue().items() if law.area in AREAS}
BUGS = {id: bug for id, bug in museum().items() if bug.overrides <= PACKING | FILES | BATCHES}

GLANCE, SEARCH = 15, 100
"""Examples of every law that are tried first, and at most."""

FACET_ONLY = (
    "GR-01",
    "MB-04",
    "MB-05",
    "MB-08",
    "MB-09",
    "MB-10",
    "MB-15",
    "MB-24",
    "MB-25",
    "MB-34",
    "MB-37",
    "MB-46",
    "S10",
    "S11",
    "S12",
    "S16",
    "S2",
    "S20",
    "S36",
    "S36-dataset",
    "S37",
    "S38",
    "S43",
    "S6",
    "S7-collate",
    "S7-padding",
    "S9",
    "X-FIL-12",
    "X-FIL-9",
    "X-PCK-3",
)
"""Known defects of released software, which must not hide others: no law without a facet may show them."""


@pytest.mark.parametrize("key", LAWS)
def test_the_reference_obeys(key: str) -> None:
    """A law holds on the reference, and enough of its examples are interesting."""
    profile = settings(max_examples=300, database=None, deadline=None)
    outcome = LAWS[key].run(ReferenceImplementation(), profile=profile)
    assert outcome.verdict == Verdict.PASSED, outcome.message


@pytest.mark.parametrize("id", BUGS)
def test_every_bug_is_caught(id: str) -> None:
    """A re-created bug breaks at least one law."""
    bug = BUGS[id]
    caught = _first_catch((law, bug) for law in LAWS.values() if _may_catch(law, bug))
    assert caught, f"no law catches {id}: {bug.text}"
    print(f"{id} is caught by {caught}")  # noqa: T201 - seen with `pytest -s`


@pytest.mark.parametrize("key", LAWS)
def test_every_law_catches_a_bug(key: str) -> None:
    """A law is broken by at least one re-created bug, so that it is no empty claim."""
    law = LAWS[key]
    caught = _first_catch((law, bug) for bug in BUGS.values() if _may_catch(law, bug))
    assert caught, f"{key} catches no bug: {law.text}"


@pytest.mark.parametrize("id", FACET_ONLY)
def test_a_known_defect_shows_in_facets_only(id: str) -> None:
    """A defect that a facet is made for breaks no general law, where it would hide others."""
    bug = BUGS[id]
    general = [law for law in LAWS.values() if not law.facet and _may_catch(law, bug)]
    assert _first_catch((law, bug) for law in general) is None


def test_laws_are_documented() -> None:
    """Every law has one sentence, a harm and a source."""
    for law in LAWS.values():
        assert law.text.endswith("."), law.key
        assert "\n" not in law.text, law.key
        assert law.harm, law.key
        assert law.sources, law.key


def test_there_are_enough_laws() -> None:
    """The offline half has at least 45 laws, whatever their facets."""
    assert len({law.id for law in LAWS.values()}) >= 45


@cache
def _examples(key: str) -> Sequence[Inputs]:
    """Inputs of a law, drawn once and put to every bug."""
    drawn: list[Inputs] = []

    def collect(**inputs: object) -> None:
        drawn.append(inputs)

    quiet = settings(
        max_examples=SEARCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(0)(quiet(given(**LAWS[key].strategies)(collect)))()
    return drawn


def _may_catch(law: Law, bug: Bug) -> bool:
    """Whether the law calls the broken operation, directly or through the path that is made of it."""
    called = set(law.needs)
    if Op.PREPARE in called:
        called |= PACKING | FILES
    if Op.PACK_DOCUMENTS in called:
        called |= PACKING
    if Op.PACKING_STRATEGY in called:
        called.add(Op.ASSIGN_BINS)
    if Op.COLLATE in called:
        called.add(Op.EPOCH_ORDER)
    return bool(called & bug.overrides)


def _first_catch(pairs: Iterator[tuple[Law, Bug]]) -> str | None:
    """The first law that a bug breaks, at a glance or after a search."""
    remaining = list(pairs)
    for start, end in ((0, GLANCE), (GLANCE, SEARCH)):
        for law, bug in remaining:
            for number, inputs in enumerate(_examples(law.key)[start:end], start + 1):
                if _breaks(law, bug, inputs):
                    return f"{law.key} at example {number} ({bug.id})"
    return None


def _breaks(law: Law, bug: Bug, inputs: Mapping[str, object]) -> bool:
    outcome = law.replay(bug.implementation(), inputs)
    assert outcome.verdict != Verdict.HARNESS_ERROR, f"{law.key} on {bug.id}: {outcome.message}"
    return outcome.verdict == Verdict.FAILED
