"""Re-created bugs, put in the place of the reference, break these suites."""

from __future__ import annotations

import pytest

from gpu_tests.injection import AREAS, NO_NUMBERS, WITHOUT_NUMERIC_EFFECT, Planned, injected, plan
from gpu_tests.ranks import Ranks, StartFailure
from properties.museum import Bug, museum

pytestmark = pytest.mark.suite("museum")

BUGS = list(injected())
PLAN = list(plan())


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_a_bug_breaks_a_check_that_the_reference_passes(bug: Bug, ranks: Ranks) -> None:
    """On real ranks, with the bug's operation in the place of the reference's, some number is wrong."""
    runner = ranks.of("gloo")
    checks = [planned for planned in PLAN if planned.reaches & bug.overrides]
    for planned in checks:
        try:
            planned.check(runner, f"museum:{bug.id}")
        except StartFailure:
            raise
        except AssertionError:
            return
    pytest.fail(f"{bug.id} passes all {len(checks)} checks: {bug.text}")


@pytest.mark.parametrize("planned", PLAN, ids=lambda planned: planned.name)
def test_the_reference_passes_every_check_of_the_plan(planned: Planned, ranks: Ranks) -> None:
    """Otherwise a bug would be caught by a check that fails on anything."""
    planned.check(ranks.of("gloo"), "reference")


def test_every_bug_of_these_areas_is_injected_or_says_why_not() -> None:
    """Also the next one: it is caught here, has no number with a reason, or breaks what is no number."""
    told = {bug.id for bug in BUGS} | set(WITHOUT_NUMERIC_EFFECT)
    for bug in museum().values():
        if any(word in bug.area for word in AREAS) and bug.id not in told:
            assert bug.overrides <= set(NO_NUMBERS), f"{bug.id} ({bug.area}) is neither injected nor exempt"


def test_every_exemption_is_of_a_bug_that_exists() -> None:
    """A stale exemption would hide the next bug of its name."""
    assert set(WITHOUT_NUMERIC_EFFECT) <= set(museum())
    assert len(BUGS) >= 40
