"""TransformerEngine's THD kernels restated from the index rules of their sources, so that claims about them run here.

Each function has the name, the arguments and the effect (also the effects in place) of the one in
``transformer_engine_torch``. With s the boundaries that a kernel derives, a search for the last s that is not above a
slot gives the slot's segment; repeated boundaries, which zero-length segments make, are skipped by that search.

Source: TransformerEngine 2.17.1 ``common/fused_attn/context_parallel.cu``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def thd_get_partitioned_indices(cu_seqlens: Tensor, total_tokens: int, world_size: int, rank: int) -> Tensor:
    """Slots of a rank (total / W,) int32, from global slot boundaries."""
    starts = cu_seqlens // world_size
    slot = torch.arange(total_tokens // world_size)
    segment = _segment(starts, slot)
    length = starts[segment + 1] - starts[segment]
    inside = slot - starts[segment]
    offset = torch.where(inside < length // 2, rank, 2 * (world_size - 1) - rank)
    return (inside + starts[segment] * world_size + length // 2 * offset).to(torch.int32)


def thd_read_half_tensor(tensor: Tensor, cu_seqlens: Tensor, half_idx: int) -> Tensor:
    """First or second half of each segment, from local slot boundaries; (T, H, D) or (2, T, H, D)."""
    halves = cu_seqlens // 2
    slot = torch.arange(tensor.shape[-3] // 2)
    return tensor.index_select(tensor.dim() - 3, slot + halves[_segment(halves, slot) + half_idx])


def thd_read_second_half_lse(lse: Tensor, cu_seqlens: Tensor, lse_packed: bool, second_half_lse_seqlen: int) -> Tensor:
    """Second half of each segment of a packed (H, T) log-sum-exp, 0 where there is none."""
    _packed_only(lse_packed)
    read = torch.zeros(lse.shape[0], second_half_lse_seqlen)
    second = _second_half(cu_seqlens)
    read[:, : len(second)] = lse[:, second]
    return read


def thd_second_half_lse_correction(lse: Tensor, lse_per_step: Tensor, cu_seqlens: Tensor, lse_packed: bool) -> None:
    """Merge a step into the second halves, in place: the larger of both plus log1p of the ratio."""
    _packed_only(lse_packed)
    second = _second_half(cu_seqlens)
    ours, step = lse[:, second], lse_per_step[:, : len(second)]
    larger, smaller = torch.maximum(ours, step), torch.minimum(ours, step)
    lse[:, second] = larger + torch.log1p(torch.exp(smaller - larger))


def thd_out_correction(
    out: Tensor,
    out_per_step: Tensor,
    lse: Tensor,
    lse_per_step: Tensor,
    cu_seqlens: Tensor,
    only_second_half: bool,
    lse_packed: bool,
) -> None:
    """Add a step's output, weighed by its log-sum-exp against that of all steps, in place."""
    _packed_only(lse_packed)
    places = _second_half(cu_seqlens) if only_second_half else torch.arange(int(cu_seqlens[-1]))
    weights = torch.exp(lse_per_step[:, : len(places)] - lse[:, places])
    out[places] += out_per_step[: len(places)] * weights.T[..., None]


def thd_grad_correction(
    grad: Tensor, grad_per_step: Tensor, cu_seqlens: Tensor, first_half: str, second_half: str
) -> None:
    """Add or copy a step's gradient into the first and second half of each segment, in place.

    Raises:
        ValueError: it is none of the six pairs that ring attention needs.
    """
    pairs = {("add", "none"), ("copy", "none"), ("none", "add"), ("none", "copy"), ("add", "copy"), ("copy", "add")}
    if (first_half, second_half) not in pairs:
        raise ValueError(f"no kernel does {first_half} to the first halves and {second_half} to the second")
    halves = cu_seqlens // 2
    slot = torch.arange(int(halves[-1]))
    segment = _segment(halves, slot)
    only_one = "none" in {first_half, second_half}
    for half, way in enumerate((first_half, second_half)):
        if way == "none":
            continue
        places = slot + halves[segment + half]
        step = grad_per_step[slot if only_one else places]
        grad[places] = grad[places] + step if way == "add" else step


def thd_sequence_order_to_cp_rank_order(inp: Tensor, cu_seqlens: Tensor, cp_size: int, total_tokens: int) -> Tensor:
    """A stream (T, ...) rank by rank."""
    return inp[_by_rank(cu_seqlens, cp_size, total_tokens)]


def thd_cp_rank_order_to_sequence_order(inp: Tensor, cu_seqlens: Tensor, cp_size: int, total_tokens: int) -> Tensor:
    """Slots rank by rank (T, ...) as a stream."""
    stream = torch.empty_like(inp)
    stream[_by_rank(cu_seqlens, cp_size, total_tokens)] = inp
    return stream


def _by_rank(cu_seqlens: Tensor, world: int, total: int) -> Tensor:
    parts: Sequence[Tensor] = [thd_get_partitioned_indices(cu_seqlens, total, world, rank) for rank in range(world)]
    return torch.cat(list(parts)).long()


def _second_half(cu_seqlens: Tensor) -> Tensor:
    """Local slots in the second half of their segment."""
    halves = cu_seqlens // 2
    slot = torch.arange(int(halves[-1]))
    return slot + halves[_segment(halves, slot) + 1]


def _segment(starts: Tensor, slot: Tensor) -> Tensor:
    found = torch.searchsorted(starts.long(), slot, right=True) - 1
    return found.clamp(0, len(starts) - 2)


def _packed_only(lse_packed: bool) -> None:
    if not lse_packed:
        raise ValueError("only the packed form (H, T) is restated here")
