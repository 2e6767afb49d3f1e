"""TransformerEngine's kernels for packed streams under context parallelism give what the reference gives."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gpu_tests import te_emulation
from gpu_tests.cases import STREAMS, Case, case_of
from gpu_tests.levels import Level, assert_equal, noise_floor
from gpu_tests.oracle import streams_of
from gpu_tests.parallel.cut import segment_and_offset
from gpu_tests.programs.model import ROPE_BASE
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation

pytestmark = pytest.mark.one_gpu

REFERENCE = ReferenceImplementation()
CUT = [case_of(name, context=world) for name, world in product(STREAMS, (2, 4))]
"""The kernels need no other rank: one device can play each of them."""


@dataclass(frozen=True)
class Kernels:
    """The kernels, and the device that they work on.

    Attributes:
        of: the extension module, or our restatement of it.
        device: where their tensors live.
    """

    of: Any
    device: str


@pytest.fixture(
    scope="module",
    params=["restated", pytest.param("transformer_engine_torch", marks=pytest.mark.suite("te-kernels"))],
)
def tex(request: pytest.FixtureRequest) -> Kernels:
    """The extension module, with the signatures of TransformerEngine 2.4 to 2.20; and its rules, restated."""
    if request.param == "restated":
        return Kernels(te_emulation, "cpu")
    return Kernels(importlib.import_module("transformer_engine_torch"), "cuda")


@pytest.mark.parametrize("case", CUT, ids=str)
def test_partitioned_indices_are_the_slots_of_each_rank(case: Case, tex: Kernels) -> None:
    """``thd_get_partitioned_indices``: int32, and to the index."""
    total = int(case.layout.padded[-1])
    for rank in range(case.context):
        got = tex.of.thd_get_partitioned_indices(_slots(case, tex.device), total, case.context, rank)
        expected = torch.from_numpy(REFERENCE.partition(case.layout, case.context, rank).astype(np.int32))
        assert_equal(f"slots of rank {rank}", got.cpu(), expected, Level.BITWISE)


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("case", CUT, ids=str)
def test_the_halves_of_a_rank_are_its_early_and_its_late_chunks(case: Case, half: int, tex: Kernels) -> None:
    """``thd_read_half_tensor``, for queries and for keys with values."""
    values = _local(case, tex.device)
    pair = torch.stack([values, -values])
    keep = _half_of(case, half, tex.device)
    local = _slots(case, tex.device) // case.context
    assert_equal("queries", tex.of.thd_read_half_tensor(values, local, half), values[keep], Level.BITWISE)
    assert_equal("keys and values", tex.of.thd_read_half_tensor(pair, local, half), pair[:, keep], Level.BITWISE)


@pytest.mark.parametrize("case", CUT, ids=str)
def test_second_halves_of_log_sum_exp_are_read_and_corrected(case: Case, tex: Kernels) -> None:
    """``thd_read_second_half_lse`` and ``thd_second_half_lse_correction``, in the packed form (H, T)."""
    local = _slots(case, tex.device) // case.context
    keep = _half_of(case, 1, tex.device)
    whole, late = _lse(case, 1, tex.device), _lse(case, 2, tex.device)[:, keep].contiguous()
    read = tex.of.thd_read_second_half_lse(whole, local, True, late.shape[1])
    assert_equal("read", read, whole[:, keep], Level.BITWISE)
    expected = whole.double()
    expected[:, keep] = torch.logaddexp(expected[:, keep], late.double())
    plain = whole.clone()
    plain[:, keep] = torch.logaddexp(plain[:, keep], late)
    tex.of.thd_second_half_lse_correction(whole, late, local, True)
    assert_equal("corrected", whole, expected, Level.CALIBRATED, noise_floor(plain, expected))


@pytest.mark.parametrize("only_second_half", [False, True])
@pytest.mark.parametrize("case", CUT, ids=str)
def test_outputs_of_a_step_are_weighed_by_their_log_sum_exp(case: Case, only_second_half: bool, tex: Kernels) -> None:
    """``thd_out_correction``: out += step * exp(lse of the step - lse of all)."""
    keep = (
        _half_of(case, 1, tex.device)
        if only_second_half
        else torch.arange(_local(case, tex.device).shape[0], device=tex.device)
    )
    out, step = torch.zeros_like(_local(case, tex.device)), _local(case, tex.device)[keep].contiguous()
    part = _lse(case, 2, tex.device)[:, keep].contiguous()
    whole = _lse(case, 1, tex.device)
    whole[:, keep] = torch.logaddexp(whole[:, keep], part)
    expected, plain = (
        torch.zeros_like(out, dtype=dtype).index_add(
            0, keep, step.to(dtype) * torch.exp(part.to(dtype) - whole[:, keep].to(dtype)).T[..., None]
        )
        for dtype in (torch.float64, torch.float32)
    )
    tex.of.thd_out_correction(out, step, whole, part, _slots(case, tex.device) // case.context, only_second_half, True)
    assert_equal("out", out, expected, Level.CALIBRATED, noise_floor(plain, expected))


@pytest.mark.parametrize(
    ("first", "second"),
    [("add", "none"), ("copy", "none"), ("none", "add"), ("none", "copy"), ("add", "copy"), ("copy", "add")],
)
@pytest.mark.parametrize("case", CUT[::5], ids=str)
def test_gradients_of_a_step_are_added_or_copied_half_by_half(
    case: Case, first: str, second: str, tex: Kernels
) -> None:
    """``thd_grad_correction``, all six ways that ring attention uses."""
    gradient = _local(case, tex.device)
    expected = gradient.clone()
    halves = {0: first, 1: second}
    touched = sorted(
        torch.cat([_half_of(case, half, tex.device) for half, way in halves.items() if way != "none"]).tolist()
    )
    step = 2.0 * gradient[touched] + 1.0
    place = {slot: index for index, slot in enumerate(touched)}
    for half, way in halves.items():
        for slot in _half_of(case, half, tex.device).tolist() if way != "none" else ():
            added = step[place[slot]]
            expected[slot] = expected[slot] + added if way == "add" else added
    tex.of.thd_grad_correction(gradient, step.contiguous(), _slots(case, tex.device) // case.context, first, second)
    assert_equal("gradient", gradient, expected, Level.BITWISE)


@pytest.mark.parametrize("case", CUT, ids=str)
def test_stream_order_and_rank_order_are_permutations_of_each_other(case: Case, tex: Kernels) -> None:
    """``thd_sequence_order_to_cp_rank_order`` and back; TransformerEngine has them since 2.18."""
    if not hasattr(tex.of, "thd_sequence_order_to_cp_rank_order"):
        pytest.skip("needs transformer-engine 2.18 or newer, which has thd_sequence_order_to_cp_rank_order")
    stream = streams_of(case).q.to(tex.device)
    parts = [REFERENCE.partition(case.layout, case.context, rank) for rank in range(case.context)]
    order = torch.from_numpy(np.concatenate(parts)).to(tex.device)
    by_rank = tex.of.thd_sequence_order_to_cp_rank_order(stream, _slots(case, tex.device), case.context, len(stream))
    assert_equal("by rank", by_rank, stream[order], Level.BITWISE)
    back = tex.of.thd_cp_rank_order_to_sequence_order(by_rank, _slots(case, tex.device), case.context, len(stream))
    assert_equal("stream", back, stream, Level.BITWISE)


@pytest.mark.suite("te-kernels")
@pytest.mark.parametrize("fused", [False, True], ids=["unfused", "fused"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("case", CUT, ids=str)
def test_every_slot_is_rotated_by_its_own_row(case: Case, dtype: str, fused: bool) -> None:
    """``apply_rotary_pos_emb`` of THD input on each rank, forward and backward."""
    rope = importlib.import_module("transformer_engine.pytorch.attention.rope")
    case = replace(case, dtype=dtype)
    half = case.head_size // 2
    frequencies = ROPE_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(max(case.slots), dtype=torch.float64)[:, None] * frequencies
    table = torch.cat([angles, angles], dim=-1).cuda()
    for rank in range(case.context):
        values = _local(case, "cuda", rank).requires_grad_()
        got = rope.apply_rotary_pos_emb(
            values, table.float()[:, None, None], tensor_format="thd", fused=fused, cu_seqlens=_slots(case, "cuda"),
            cp_size=case.context, cp_rank=rank,
        )  # fmt: skip
        rows = torch.from_numpy(REFERENCE.rotary_rows(case.layout, case.context, rank, RotaryMode.RESTART)).cuda()
        one, other = (values.detach().to(kind).requires_grad_() for kind in (torch.float64, case.torch_dtype))
        expected, plain = _rotated(one, table[rows][:, None]), _rotated(other, table[rows][:, None].to(other.dtype))
        upstream = torch.ones_like(got)
        both = [
            ("output", got, expected, plain),
            ("gradient", *(torch.autograd.grad(x, y, upstream.to(x.dtype))[0]
                           for x, y in ((got, values), (expected, one), (plain, other)))),
        ]  # fmt: skip
        for what, value, exact, rounded in both:
            floor = noise_floor(rounded, exact)
            assert_equal(f"{what} on rank {rank}", value.detach(), exact.detach(), Level.CALIBRATED, floor)


def _slots(case: Case, device: str) -> Tensor:
    """Slot boundaries of the whole stream (n + 1,) as the kernels take them, int32."""
    return torch.from_numpy(case.layout.padded.astype(np.int32)).to(device)


def _local(case: Case, device: str, rank: int = 0) -> Tensor:
    """What a rank holds of a stream (T / W, H, D)."""
    own = torch.from_numpy(REFERENCE.partition(case.layout, case.context, rank))
    return streams_of(case).q[own].to(device)


def _half_of(case: Case, half: int, device: str) -> Tensor:
    """Local slots in the early (0) or late (1) chunk of their segment."""
    share = torch.from_numpy(np.diff(case.layout.padded)) // case.context
    segment, offset = segment_and_offset(share)
    late = offset >= (share // 2)[segment]
    return (late == bool(half)).nonzero().squeeze(1).to(device)


def _lse(case: Case, seed: int, device: str) -> Tensor:
    """Log-sum-exp (H, T / W) float32."""
    total = int(case.layout.padded[-1]) // case.context
    return torch.randn(case.heads, total, generator=torch.Generator().manual_seed(seed)).to(device)


def _rotated(values: Tensor, angles: Tensor) -> Tensor:
    first, second = values.chunk(2, dim=-1)
    return values * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()
