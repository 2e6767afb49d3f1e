"""The run-time laws: true of the reference, able to catch every bug of their operations, and none of them idle."""

from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from properties.law import Law, Verdict
from properties.laws import (
    test_context_parallel,
    test_in_batch,
    test_in_batch_boundaries,
    test_layouts,
    test_local_boundaries,
    test_positions,
    test_sequence_index,
    test_slicing,
    test_thd_params,
    test_vlm_step,
)
from properties.museum import Bug, museum
from reference_impl.interface import Op
from reference_impl.reference import ReferenceImplementation

MODULES = (
    test_context_parallel,
    test_in_batch,
    test_in_batch_boundaries,
    test_layouts,
    test_local_boundaries,
    test_positions,
    test_sequence_index,
    test_slicing,
    test_thd_params,
    test_vlm_step,
)
LAWS: dict[str, Law] = {
    test.law.key: test.law for module in MODULES for test in vars(module).values() if hasattr(test, "law")
}
OPERATIONS = frozenset[Op]().union(*(law.needs for law in LAWS.values()))
BUGS = {id: bug for id, bug in museum().items() if bug.overrides and bug.overrides <= OPERATIONS}
CALLS = {
    Op.SEQUENCE_PARAMS: {Op.SEQUENCE_INDEX},
    Op.PACK_IN_BATCH: {Op.PAD_LAYOUT},
    Op.VLM_STEP: {Op.PACK_IN_BATCH, Op.PAD_LAYOUT},
    Op.SLICE_BATCH: {Op.PARTITION},
    Op.GATHER: {Op.PARTITION},
}
"""Operations that the reference makes of others, so that a bug in these shows in them."""

ON_THE_REFERENCE = settings(max_examples=300, database=None, deadline=None)
DRAWS = settings(
    max_examples=100,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@cache
def drawn(key: str) -> list[dict[str, Any]]:
    """The first 100 inputs of a law."""
    inputs: list[dict[str, Any]] = []

    @seed(0)
    @DRAWS
    @given(**LAWS[key].strategies)
    def remember(**values: Any) -> None:
        inputs.append(values)

    remember()
    return inputs


@cache
def kills(key: str, id: str) -> bool:
    """Whether one of a law's first 100 inputs tells a bug from the reference."""
    for inputs in drawn(key):
        outcome = LAWS[key].replay(BUGS[id].implementation(), deepcopy(inputs))
        assert outcome.verdict is not Verdict.HARNESS_ERROR, outcome.message
        if outcome.verdict is Verdict.FAILED:
            return True
    return False


def concerns(law: Law, bug: Bug) -> bool:
    """Whether a law calls what a bug breaks."""
    return any(bug.overrides & {op, *CALLS.get(op, ())} for op in law.needs)


@pytest.mark.parametrize("key", LAWS)
def test_law_holds_for_the_reference_and_is_not_trivial(key: str) -> None:
    outcome = LAWS[key].run(ReferenceImplementation(), profile=ON_THE_REFERENCE)
    assert outcome.verdict is Verdict.PASSED, outcome.message


@pytest.mark.parametrize("key", [key for key, law in LAWS.items() if law.activity])
def test_interesting_inputs_are_well_above_the_floor(key: str) -> None:
    activity = LAWS[key].activity
    assert activity is not None
    share = sum(activity.holds(**inputs) for inputs in drawn(key)) / len(drawn(key))
    assert share > 1.2 * activity.share


@pytest.mark.parametrize("id", BUGS)
def test_bug_is_caught(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    caught_by = [key for key, law in LAWS.items() if concerns(law, BUGS[id]) and kills(key, id)]
    with capsys.disabled():
        print(f"\n{id}: {', '.join(caught_by) or 'survives'}")  # noqa: T201 - what caught it is the result
    assert caught_by


@pytest.mark.parametrize("key", LAWS)
def test_law_catches_a_bug(key: str) -> None:
    law = LAWS[key]
    nearest_first = sorted(BUGS, key=lambda bug: not BUGS[bug].overrides & law.needs)
    assert any(kills(key, bug) for bug in nearest_first if concerns(law, BUGS[bug]))


def test_every_law_says_what_a_user_suffers() -> None:
    for law in LAWS.values():
        assert law.text.endswith("."), law.key
        assert law.harm, law.key
        assert law.sources, law.key
