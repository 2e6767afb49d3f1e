"""What changed between two targets, from their sections alone."""

from __future__ import annotations

import msgspec
import pytest

from conformance.changes import Changes, Difference, between, between_neighbours
from conformance.events import BLAME, Header, PassTarget, Section, Status, Verdict

HEADER = Header(
    packproof="", target="a", target_version="1", versions={"core": "1"}, imported="", stand_ins=(),
    operations=("vlm_step",), python="", platform="", profile="", seed=0, started="", baseline=None,
    places={"packing": "old.place", "writer": "w"}, defaults={"pad": "1", "gone": "0"},
    policies={"empty_row": "left out"},
)  # fmt: skip
AFTER = msgspec.structs.replace(
    HEADER, target="b", versions={"core": "2"}, places={"packing": "new.place", "writer": "w"},
    defaults={"pad": "2", "came": "x"}, policies={"empty_row": "refused"},
)  # fmt: skip


def section(header: Header, *tests: Status, **found: Status) -> Section:
    verdicts = [
        Verdict(
            law=law, facet="", claim="", target="", target_version="", verdict=status, blame=BLAME[status],
            seconds=0, examples=1,
        )
        for law, status in found.items()
    ]  # fmt: skip
    passed = [
        PassTarget(suite="vlm-in-batch", test=str(n), target="", target_version="", verdict=status, seconds=0)
        for n, status in enumerate(tests)
    ]
    return Section(header, verdicts, passed)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (Status.FAILED, Status.PASSED, "fixed"),
        (Status.FAILED_AS_EXPECTED, Status.PASSED, "fixed"),
        (Status.FAILED_AS_EXPECTED, Status.STALE, "fixed"),
        (Status.PASSED, Status.FAILED, "broken"),
        (Status.STALE, Status.FAILED_AS_EXPECTED, "broken"),
        (Status.PASSED, Status.NOT_SUPPORTED, "lost"),
        (Status.FAILED, Status.NOT_SUPPORTED, "lost"),
        (Status.NOT_SUPPORTED, Status.PASSED, "gained"),
        (Status.NOT_SUPPORTED, Status.FAILED, "gained"),
        (Status.FAILED, Status.FAILED_AS_EXPECTED, ""),
        (Status.PASSED, Status.HARNESS_ERROR, ""),
    ],
)
def test_a_law_moves_from_one_kind_of_verdict_to_another(before: Status, after: Status, kind: str) -> None:
    """Whether a baseline knows is no change; trouble of the harness is no evidence."""
    found = between(section(HEADER, A=before), section(AFTER, A=after))
    kinds = [name for name in ("fixed", "broken", "lost", "gained") if getattr(found, name)]
    assert kinds == ([kind] if kind else [])


def test_a_law_that_one_side_has_no_verdict_for_is_no_change() -> None:
    """Such as one cut short."""
    found = between(section(HEADER, A=Status.FAILED), section(AFTER, B=Status.PASSED))
    assert (found.fixed, found.broken, found.lost, found.gained) == ((), (), (), ())


def test_places_defaults_policies_versions_and_pass_targets_are_told_on_both_sides() -> None:
    """What came has nothing before it, what went nothing after it; what stayed is left out."""
    found: Changes = between(
        section(HEADER, Status.PASSED, Status.PASSED), section(AFTER, Status.PASSED, Status.FAILED)
    )
    assert found.versions == (Difference("core", "1", "2"),)
    assert found.places == (Difference("packing", "old.place", "new.place"),)
    assert found.defaults == (
        Difference("pad", "1", "2"),
        Difference("gone", "0", None),
        Difference("came", None, "x"),
    )
    assert found.policies == (Difference("empty_row", "left out", "refused"),)
    assert found.pass_targets == (Difference("vlm-in-batch", "2 of 2", "1 of 2"),)


def test_neighbours_are_compared_in_the_order_given() -> None:
    """Three targets make two steps."""
    sections = [section(msgspec.structs.replace(HEADER, target=name)) for name in "abc"]
    assert [(step.before, step.after) for step in between_neighbours(sections)] == [("a", "b"), ("b", "c")]
