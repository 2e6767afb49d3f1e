"""The life-cycle machine finds nothing wrong with the reference, and finds bugs that live between the steps."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from properties.claims import Broken
from properties.law import ALL_CHECKS
from properties.machines.life_cycle import life_cycle_of
from properties.museum import museum
from reference_impl.reference import ReferenceImplementation

RUNS = settings(
    max_examples=15,
    stateful_step_count=12,
    database=None,
    deadline=None,
    derandomize=True,
    print_blob=False,
    phases=(Phase.generate,),
    suppress_health_check=ALL_CHECKS,
)


def test_whatever_the_order_of_steps_nothing_is_lost_or_seen_twice() -> None:
    """The reference survives every life."""
    run_state_machine_as_test(life_cycle_of(ReferenceImplementation), settings=RUNS)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_seen_twice_in_long_lives() -> None:
    """More lives, and longer ones."""
    longer = settings(RUNS, max_examples=1000, stateful_step_count=40)
    run_state_machine_as_test(life_cycle_of(ReferenceImplementation), settings=longer)


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        ("NM-07", "the rows hold the documents of the last preparations"),
        ("S16", "the metadata have one entry"),
        ("X-ROW-5", "the rows hold the documents of the last preparations"),
        ("X-PRE-1", "the rows hold the documents of the last preparations"),
        ("X-EPO-4", "trained on twice|trains every document once"),
        ("X-EPO-7", "the same after a resume|trained on twice|trains every document once"),
        ("X-COL-25", "the same after a resume|trained on twice|trains every document once"),
    ],
)
def test_a_bug_between_the_steps_is_caught(id: str, sentence: str) -> None:
    """Stale files, metadata and orders that depend on what was done before break a claim of the machine."""
    with pytest.raises(Broken, match=sentence):
        run_state_machine_as_test(life_cycle_of(museum()[id].implementation), settings=RUNS)
