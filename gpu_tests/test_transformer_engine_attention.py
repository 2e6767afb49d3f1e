"""TransformerEngine's attention on packed streams equals each document alone, on one device and over CP ranks."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from gpu_tests import oracle
from gpu_tests.cases import STREAMS, Case, case_of
from gpu_tests.levels import Level, assert_equal
from gpu_tests.programs.te_attention import SWITCHES, NoBackend, TeBackend, attend, attend_on_ranks
from gpu_tests.ranks import Ranks
from gpu_tests.ranks_equal_one import assert_slots, laid_together
from properties.segments import is_padding

HEAD_SIZE = 64
"""Every backend takes it; smaller ones not."""

ONE_DEVICE = [
    case_of(name, head_size=HEAD_SIZE, dtype=dtype, level=Level.SIMILARITY)
    for name, dtype in product(STREAMS, ("bfloat16", "float16"))
] + [
    case_of(name, head_size=HEAD_SIZE, dtype="float32", level=Level.SIMILARITY) for name in ("odd tails", "aligned")
] + [
    case_of(name, head_size=HEAD_SIZE, dtype="bfloat16", level=Level.SIMILARITY, causal=False)
    for name in ("padding between", "padding in the tail only", "zero length inside")
]  # fmt: skip
ON_RANKS = [
    case_of(name, head_size=HEAD_SIZE, dtype="bfloat16", level=Level.SIMILARITY, context=world, backend="nccl")
    for name, world in product(STREAMS, (2, 4))
]


@pytest.mark.suite("te-attention")
@pytest.mark.one_gpu
@pytest.mark.parametrize("backend", SWITCHES)
@pytest.mark.parametrize("case", ONE_DEVICE, ids=str)
def test_a_backend_equals_each_document_alone(case: Case, backend: TeBackend) -> None:
    """``padding_causal`` and ``padding``, outputs and gradients, with both boundary arrays."""
    _assert_results(_attend(case, backend), case)


@pytest.mark.suite("te-attention")
@pytest.mark.one_gpu
@pytest.mark.parametrize("backend", SWITCHES)
def test_padding_in_the_tail_is_seen_whether_or_not_it_is_announced(backend: TeBackend) -> None:
    """``pad_between_seqs`` true, false and left to be found out; to 2.17.1 nobody looks at the last segment."""
    case = _bf16("padding in the tail only")
    for announced in (None, True, False):
        _assert_results(_attend(case, backend, pad_between_seqs=announced), case)


@pytest.mark.suite("te-attention")
@pytest.mark.one_gpu
@pytest.mark.parametrize("backend", SWITCHES)
def test_repeated_runs_give_the_same_bits(backend: TeBackend) -> None:
    """With nondeterministic algorithms forbidden."""
    case = _bf16("many documents")
    first, second = _attend(case, backend), _attend(case, backend)
    for name, values in first.items():
        assert_equal(name, second[name], values, Level.BITWISE)


@pytest.mark.suite("te-ranks")
@pytest.mark.parametrize("exchange", ["p2p", "all_gather", "a2a"])
@pytest.mark.parametrize("backend", ["flash", "fused"])
@pytest.mark.parametrize("case", ON_RANKS, ids=str)
def test_ranks_together_equal_each_document_alone(case: Case, backend: TeBackend, exchange: str, ranks: Ranks) -> None:
    """Context parallelism in all its ways to exchange keys, over NCCL."""
    results = ranks.of("nccl").run(attend_on_ranks, case, backend, exchange, context=case.context)
    if isinstance(results[0], str):
        pytest.skip(f"needs a {backend} backend of TransformerEngine for {exchange}: {results[0]}")
    assert_slots(results, case)
    whole = {name: laid_together(results, name, expected) for name, expected in oracle.exact(case).items()}
    _assert_results(whole, case)


def _bf16(name: str) -> Case:
    return replace(case_of(name), head_size=HEAD_SIZE, dtype="bfloat16", level=Level.SIMILARITY)


def _attend(case: Case, backend: TeBackend, *, pad_between_seqs: bool | None = None) -> dict[str, Tensor]:
    try:
        return attend(case, backend, pad_between_seqs=pad_between_seqs)
    except NoBackend as error:
        pytest.skip(f"needs a {backend} backend of TransformerEngine for {case}: {error}")


def _assert_results(got: dict[str, Tensor], case: Case) -> None:
    """Equal at tokens; no gradient at padding."""
    padding = torch.from_numpy(is_padding(case.layout))
    for name, expected in oracle.exact(case).items():
        assert_equal(name, got[name][~padding], expected[~padding], case.level)
        if name != "out":
            assert not got[name][padding].any(), f"{name}: padding has a gradient"
