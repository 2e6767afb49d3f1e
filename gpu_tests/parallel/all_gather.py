"""All-gather attention: every rank gets all keys, puts them into stream order, and attends chunk by chunk.

Chunk k of a segment with c slots per chunk sees the first ``min(V, c * (k + 1))`` tokens of the segment, aligned
at the end. Source: TransformerEngine, ``cp_comm_type="all_gather"``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpu_tests.parallel.cut import Cut, segment_and_offset
from gpu_tests.parallel.dense import dense_attention
from gpu_tests.parallel.exchange import gather
from gpu_tests.ranks.fabric import Group


def all_gather_attention(q: Tensor, k: Tensor, v: Tensor, cut: Cut, group: Group, *, causal: bool) -> Tensor:
    """As ``ring_attention``."""
    inverse = cut.inverse.to(k.device)
    keys, values = gather(k, group)[inverse], gather(v, group)[inverse]
    return dense_attention(q, keys, values, visible_in_stream(cut, causal=causal).to(q.device))


def visible_in_stream(cut: Cut, *, causal: bool) -> Tensor:
    """Which keys of the whole stream each query of this rank sees, (T / W, T) bool."""
    q_segment, q_offset = segment_and_offset(cut.share)
    k_segment, k_offset = segment_and_offset(cut.slots.diff())
    lengths = cut.valid.diff()
    visible = (q_segment[:, None] == k_segment[None, :]) & (k_offset < lengths[k_segment])[None, :]
    if not causal:
        return visible
    chunk = (cut.share // 2)[q_segment]
    first = q_offset < chunk
    number = torch.where(first, cut.rank, 2 * cut.world - 1 - cut.rank)
    position = number * chunk + torch.where(first, q_offset, q_offset - chunk)
    if cut.world == 1:  # one rank is not cut into chunks, whose number could be odd
        position = q_offset
    return visible & (k_offset[None, :] <= position[:, None])
