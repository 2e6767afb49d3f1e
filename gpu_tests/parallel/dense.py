"""Attention under a mask, differentiated by torch."""

from __future__ import annotations

from torch import Tensor, nn

from gpu_tests.parallel.step import wide


def dense_attention(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """Attention of (Q, H, D) queries to the visible (K, H, D) keys; a query that sees none gets zeros.

    Args:
        q: (Q, H, D).
        k: (K, H, D).
        v: (K, H, D).
        visible: (Q, K) bool.

    Returns:
        (Q, H, D) in the dtype of ``q``.
    """
    sees_any = visible.any(dim=1)
    # A row without a visible key would be NaN; let it see everything, then drop what it saw.
    mask = visible | ~sees_any[:, None]
    heads_first = [wide(x).transpose(0, 1).unsqueeze(0) for x in (q, k, v)]
    out = nn.functional.scaled_dot_product_attention(*heads_first, attn_mask=mask)
    return (out.squeeze(0).transpose(0, 1) * sees_any[:, None, None]).to(q.dtype)
