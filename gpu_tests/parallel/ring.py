"""Ring attention: keys and values travel from rank to rank, queries stay.

At each step a rank has the keys of one other rank, whose chunks lie before or after its own:

    keys of            this rank           an earlier rank             a later rank
    queries see        causally, in        the first half of the       everything, but only the
                       local order         keys, all of it             second half of the queries

Valid tokens of a segment stand first on every rank, so that a count per rank and segment tells keys from padding.
Source: TransformerEngine, context parallelism with ``cp_comm_type="p2p"``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpu_tests.parallel import step
from gpu_tests.parallel.cut import Cut, segment_and_offset
from gpu_tests.parallel.exchange import pass_on
from gpu_tests.ranks.fabric import Group


def ring_attention(q: Tensor, k: Tensor, v: Tensor, cut: Cut, group: Group, *, causal: bool) -> Tensor:
    """Attention of this rank's queries to the keys of all ranks.

    Args:
        q: (T / W, H, D) of this rank's slots; k and v alike.
        k: see q.
        v: see q.
        cut: what the rank knows of the stream.
        group: the CP ranks.
        causal: whether a token sees only earlier ones.

    Returns:
        (T / W, H, D) in the dtype of ``q``.
    """
    out: Tensor = _Ring.apply(q, k, v, cut, group, causal)
    return out


def visible_keys(cut: Cut, source: int, *, causal: bool) -> Tensor:
    """Which of the keys of rank ``source`` each query of this rank sees, (T / W, T / W) bool."""
    segment, offset = segment_and_offset(cut.share)
    visible = segment[:, None] == segment[None, :]
    visible &= offset[None, :] < cut.counts[source][segment][None, :]
    if not causal:
        return visible
    half = (cut.share // 2)[segment]
    if source == cut.rank:
        return visible & (offset[None, :] <= offset[:, None])
    if source < cut.rank:
        return visible & (offset < half)[None, :]
    return visible & (offset >= half)[:, None]


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, cut: Cut, group: Group, causal: bool) -> Tensor:
        scale = q.shape[-1] ** -0.5
        out = torch.zeros_like(step.wide(q))
        lse = torch.full((q.shape[1], q.shape[0]), -torch.inf, dtype=out.dtype, device=q.device)
        keys, values = k, v
        for turn in range(cut.world):
            visible = visible_keys(cut, (cut.rank - turn) % cut.world, causal=causal).to(q.device)
            out, lse = step.merge(out, lse, *step.partial(q, keys, values, visible, scale))
            if turn < cut.world - 1:
                keys, values = pass_on([keys, values], group)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.cut, ctx.group, ctx.causal = cut, group, causal
        return out.to(q.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        cut, group, scale = ctx.cut, ctx.group, q.shape[-1] ** -0.5
        d_out = step.wide(gradients[0])
        dot = (d_out * out).sum(-1).transpose(0, 1)
        d_q = torch.zeros_like(out)
        keys, values, d_k, d_v = k, v, torch.zeros_like(out), torch.zeros_like(out)
        for turn in range(cut.world):
            visible = visible_keys(cut, (cut.rank - turn) % cut.world, causal=ctx.causal).to(q.device)
            shares = step.gradients(q, keys, values, visible, scale, lse, d_out, dot)
            d_q, d_k, d_v = d_q + shares[0], d_k + shares[1], d_v + shares[2]
            # The sums travel with the keys that they belong to; after W turns both are home.
            keys, values, d_k, d_v = pass_on([keys, values, d_k, d_v], group)
        return d_q.to(q.dtype), d_k.to(k.dtype), d_v.to(v.dtype), None, None, None
