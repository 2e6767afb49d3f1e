"""Slicing and attention over real ranks equal the same documents on one rank, forward and backward."""

from __future__ import annotations

import pytest

from gpu_tests.cases import ATTENTION, SLICING, TENSOR_AND_CONTEXT, Case, Method
from gpu_tests.programs.attention import METHODS
from gpu_tests.ranks import Ranks
from gpu_tests.ranks_equal_one import check_attention, check_layer, check_slicing

pytestmark = pytest.mark.suite("ranks")


@pytest.mark.parametrize("case", SLICING, ids=str)
def test_ranks_own_every_slot_once_and_agree_on_all_metadata(case: Case, ranks: Ranks, target: str) -> None:
    """What the ranks hold, laid together, is the stream; and all of them have the same boundaries."""
    check_slicing(ranks.of(case.backend), target, case)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ATTENTION, ids=str)
def test_attention_over_ranks_equals_each_document_alone(
    case: Case, method: Method, ranks: Ranks, target: str
) -> None:
    """Outputs and gradients of all ranks, put together, are those of documents that never were packed."""
    check_attention(ranks.of(case.backend), target, case, method)


@pytest.mark.parametrize("case", TENSOR_AND_CONTEXT, ids=str)
def test_a_layer_over_tp_and_cp_ranks_equals_one_rank(case: Case, ranks: Ranks, target: str) -> None:
    """With heads split, slots cut and, under SP, scattered: same outputs, same gradients of input and weights."""
    check_layer(ranks.of(case.backend), target, case)
