"""Attention of some queries to some keys, its log-sum-exp, and its share of the gradients.

The arithmetic is at least float32, as in the kernels; outputs of a part are merged in that precision.
"""

from __future__ import annotations

import torch
from torch import Tensor


def wide(values: Tensor) -> Tensor:
    """Values in the precision of the arithmetic: float32, or float64 where they have it already."""
    return values if values.dtype == torch.float64 else values.float()


def partial(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Attention to the visible keys.

    Args:
        q: (Q, H, D).
        k: (K, H, D).
        v: (K, H, D).
        visible: (Q, K) bool.
        scale: of the scores.

    Returns:
        Output (Q, H, D) and log-sum-exp (H, Q); a query that sees no key has output 0 and log-sum-exp -inf.
    """
    scores = _scores(q, k, visible, scale)
    lse = torch.logsumexp(scores, dim=-1)
    weights = torch.exp(scores - _finite(lse).unsqueeze(-1))
    return torch.einsum("hqk,khd->qhd", weights, wide(v)), lse


def merge(out: Tensor, lse: Tensor, other: Tensor, other_lse: Tensor) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp of attention to the keys of two parts. Source: flash attention's combination rule."""
    total = torch.logaddexp(lse, other_lse)
    anchor = _finite(total)  # two parts without a visible key: -inf - -inf is no number
    shares = [torch.exp(part - anchor).transpose(0, 1).unsqueeze(-1) for part in (lse, other_lse)]
    return out * shares[0] + other * shares[1], total


def gradients(
    q: Tensor, k: Tensor, v: Tensor, visible: Tensor, scale: float, lse: Tensor, d_out: Tensor, dot: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """A part's share of dq, dk and dv.

    Args:
        q: (Q, H, D).
        k: (K, H, D).
        v: (K, H, D).
        visible: (Q, K) bool.
        scale: of the scores.
        lse: (H, Q) over *all* keys of each query, not only those of this part.
        d_out: (Q, H, D) gradient of the whole output.
        dot: (H, Q) sum over D of ``d_out`` times the whole output.
    """
    weights = torch.exp(_scores(q, k, visible, scale) - _finite(lse).unsqueeze(-1))
    d_weights = torch.einsum("qhd,khd->hqk", wide(d_out), wide(v))
    d_scores = weights * (d_weights - dot.unsqueeze(-1)) * scale
    d_q = torch.einsum("hqk,khd->qhd", d_scores, wide(k))
    d_k = torch.einsum("hqk,qhd->khd", d_scores, wide(q))
    d_v = torch.einsum("hqk,qhd->khd", weights, wide(d_out))
    return d_q, d_k, d_v


def _scores(q: Tensor, k: Tensor, visible: Tensor, scale: float) -> Tensor:
    scores = torch.einsum("qhd,khd->hqk", wide(q), wide(k)) * scale
    return scores.masked_fill(~visible, -torch.inf)


def _finite(lse: Tensor) -> Tensor:
    return torch.where(torch.isinf(lse), torch.zeros_like(lse), lse)
