"""All-to-all attention: slots are exchanged for heads, so that a rank has all slots of some heads.

Between the exchanges the kernel is an ordinary one on the whole stream, with the global boundaries. Source: DeepSpeed
Ulysses (arXiv 2309.14509); TransformerEngine, ``cp_comm_type="a2a"``.
"""

from __future__ import annotations

from torch import Tensor

from gpu_tests.parallel.cut import Cut, segment_and_offset
from gpu_tests.parallel.dense import dense_attention
from gpu_tests.parallel.exchange import swap
from gpu_tests.ranks.fabric import Group


def all_to_all_attention(q: Tensor, k: Tensor, v: Tensor, cut: Cut, group: Group, *, causal: bool) -> Tensor:
    """As ``ring_attention``; the number of heads is a multiple of W.

    Raises:
        ValueError: it is not.
    """
    if q.shape[1] % cut.world:
        raise ValueError(f"{q.shape[1]} heads cannot be split over {cut.world} ranks")
    inverse, order = cut.inverse.to(q.device), cut.order.to(q.device)
    all_q, all_k, all_v = (_slots_for_heads(x, cut.world, group)[inverse] for x in (q, k, v))
    out = dense_attention(all_q, all_k, all_v, visible_to_all(cut, causal=causal).to(q.device))
    return _heads_for_slots(out[order], cut.world, group)


def visible_to_all(cut: Cut, *, causal: bool) -> Tensor:
    """Which keys each query of the whole stream sees, (T, T) bool, from the kernel's own boundaries."""
    segment, offset = segment_and_offset(cut.slots.diff())
    visible = (segment[:, None] == segment[None, :]) & (offset < cut.valid.diff()[segment])[None, :]
    return visible & (offset[None, :] <= offset[:, None]) if causal else visible


def _slots_for_heads(local: Tensor, world: int, group: Group) -> Tensor:
    """(T / W, H, D) of some slots to (T, H / W, D) of some heads, slots in rank order."""
    slots, heads, size = local.shape
    parts = local.reshape(slots, world, heads // world, size).transpose(0, 1)
    return swap(parts, group).reshape(world * slots, heads // world, size)


def _heads_for_slots(some_heads: Tensor, world: int, group: Group) -> Tensor:
    """Inverse of ``_slots_for_heads``."""
    slots, heads, size = some_heads.shape
    parts = some_heads.reshape(world, slots // world, heads, size)
    return swap(parts, group).transpose(0, 1).reshape(slots // world, world * heads, size)
