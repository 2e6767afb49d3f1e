"""Slicing and attention over real ranks equal the same documents on one rank, forward and backward."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from gpu_tests.cases import ATTENTION, SIMULATED, SLICING, TENSOR_AND_CONTEXT, Case, Method
from gpu_tests.programs.attention import METHODS
from gpu_tests.ranks import Ranks
from gpu_tests.ranks_equal_one import check_attention, check_layer, check_simulation, check_slicing

pytestmark = pytest.mark.suite("ranks")


def _rows(cases: list[Case]) -> list[ParameterSet]:
    """Rows of a table, those that need more than four processes on a CPU in suites of their own."""
    found: list[ParameterSet] = []
    for case in cases:
        marks = [pytest.mark.suite("ranks-nccl")] if case.backend == "nccl" else []
        marks += [pytest.mark.suite("ranks-8")] if case.ranks == 8 else []
        found.append(pytest.param(case, marks=marks, id=str(case)))
    return found


@pytest.mark.parametrize("case", _rows(SLICING))
def test_ranks_own_every_slot_once_and_agree_on_all_metadata(case: Case, ranks: Ranks, target: str) -> None:
    """What the ranks hold, laid together, is the stream; and all of them have the same boundaries."""
    check_slicing(ranks.of(case.backend), target, case)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", _rows(ATTENTION))
def test_attention_over_ranks_equals_each_document_alone(
    case: Case, method: Method, ranks: Ranks, target: str
) -> None:
    """Outputs and gradients of all ranks, put together, are those of documents that never were packed."""
    check_attention(ranks.of(case.backend), target, case, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", SIMULATED, ids=str)
def test_the_simulation_of_all_ranks_is_what_the_ranks_compute(
    case: Case, method: Method, ranks: Ranks, target: str
) -> None:
    """The specification describes the ranks in one process; here are real ones to compare it with."""
    check_simulation(ranks.of("gloo"), target, case, method)


@pytest.mark.parametrize("case", _rows(TENSOR_AND_CONTEXT))
def test_a_layer_over_tp_and_cp_ranks_equals_one_rank(case: Case, ranks: Ranks, target: str) -> None:
    """With heads split, slots cut and, under SP, scattered: same outputs, same gradients of input and weights."""
    check_layer(ranks.of(case.backend), target, case)
