"""Every law holds for the reference, every bug is caught, and no law is idle."""

from __future__ import annotations

from collections import Counter

import pytest
from museum_runs import BUGS, GLANCE, LAWS, SEARCH, first_catch, nearest_first, reference_for

from properties.census import KINDS, census
from properties.law import Verdict
from properties.tracing import concerns, drawn
from reference_impl.interface import Op
from reference_impl.rules import RULES, Severity

ON_TEXT = {key for key in LAWS if key.startswith("TXT-")}
"""Laws on real text have a test module of their own: each costs a preparation."""

FACET_ONLY = (
    *("GR-01", "MB-04", "MB-05", "MB-08", "MB-09", "MB-10", "MB-12", "MB-15", "MB-24", "MB-25", "MB-34", "MB-37"),
    *("MB-46", "S10", "S11", "S12", "S16", "S19", "S2", "S20", "S36", "S36-dataset", "S37", "S38", "S43", "S6"),
    *("S7-collate", "S7-padding", "S9", "X-FIL-12", "X-FIL-9", "X-PCK-3"),
)
"""Known defects of released software, which must not hide others: no law without a facet may show them."""


REFUSALS = {key for key, law in LAWS.items() if law.area == "CFG" and law.id >= "CFG-010"}


@pytest.mark.parametrize("key", sorted(LAWS.keys() - ON_TEXT))
def test_law_holds_for_the_reference(key: str) -> None:
    law, reference = LAWS[key], reference_for(LAWS[key])
    for inputs in drawn(key, SEARCH):
        outcome = law.replay(reference, inputs)
        assert outcome.verdict is Verdict.PASSED, outcome.message


@pytest.mark.parametrize("key", sorted(key for key, law in LAWS.items() if law.activity))
def test_interesting_inputs_are_well_above_the_floor(key: str) -> None:
    activity = LAWS[key].activity
    assert activity is not None
    share = sum(activity.holds(**inputs) for inputs in drawn(key, SEARCH)) / len(drawn(key, SEARCH))
    assert share >= min(1.1 * activity.share, 1.0)


@pytest.mark.parametrize("id", [id for id, bug in BUGS.items() if bug.overrides != {Op.PREPARE_TEXT}])
def test_bug_is_caught(id: str) -> None:
    bug = BUGS[id]
    candidates = [law for key, law in LAWS.items() if key not in ON_TEXT and concerns(law, bug)]
    candidates.sort(key=lambda law: nearest_first(law, bug))
    assert first_catch((law, bug) for law in candidates), f"no law catches {id}: {bug.text}"


@pytest.mark.parametrize("key", sorted(LAWS.keys() - ON_TEXT))
def test_law_catches_a_bug(key: str) -> None:
    law = LAWS[key]
    candidates = [bug for bug in BUGS.values() if concerns(law, bug)]
    candidates.sort(key=lambda bug: nearest_first(law, bug))
    assert first_catch((law, bug) for bug in candidates), f"{key} catches no bug: {law.text}"


@pytest.mark.parametrize("id", FACET_ONLY)
def test_known_defect_shows_in_facets_only(id: str) -> None:
    """A defect that a facet is made for breaks no general law, where it would hide others."""
    general = [law for key, law in LAWS.items() if not law.facet and key not in ON_TEXT]
    assert first_catch([(law, BUGS[id]) for law in general if concerns(law, BUGS[id])], most=15) is None


@pytest.mark.parametrize("key", sorted(REFUSALS))
def test_a_refusal_needs_a_message(key: str) -> None:
    assert first_catch([(LAWS[key], BUGS["V-bare-assert"])])


@pytest.mark.parametrize(
    ("key", "caught"),
    [
        ("CFG-020[in-batch]", True),
        ("CFG-040[in-batch]", True),
        ("CFG-041[in-batch]", True),
        ("CFG-020[offline]", False),
    ],
)
def test_a_bug_of_one_mode_leaves_laws_of_other_modes_alone(key: str, caught: bool) -> None:
    assert bool(first_catch([(LAWS[key], BUGS["S31-providers"])])) is caught


def test_every_kind_of_input_is_drawn() -> None:
    """What is never drawn is never tested: a kind that is missing here needs a strategy."""
    found: Counter[str] = Counter()
    for key in LAWS:
        found += census(drawn(key, SEARCH)[:GLANCE])
    assert sorted(KINDS.keys() - found.keys()) == []


def test_every_standing_error_of_the_rules_has_a_law() -> None:
    errors = {id for id, rule in RULES.items() if rule.severity is Severity.ERROR and rule.until is None}
    named = {source.removeprefix("rule ") for law in LAWS.values() for source in law.sources}
    assert errors <= named


def test_laws_are_documented() -> None:
    for law in LAWS.values():
        assert law.text.endswith("."), law.key
        assert law.harm, law.key
        assert law.sources, law.key


def test_there_are_enough_laws() -> None:
    assert len({law.id for law in LAWS.values()}) >= 60
