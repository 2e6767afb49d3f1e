"""Attention of each document on its own, without packing, padding, masks or ranks: what everything else must equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gpu_tests.cases import Case
from properties.segments import is_padding
from reference_impl.batches import Layout

GARBAGE = 30.0
"""What padding holds: large beside the unit normal entries of tokens, so that a leak is no rounding error."""


@dataclass(frozen=True, eq=False)
class Streams:
    """Inputs of attention and the gradient of its output, each (T, H, D).

    Attributes:
        q: queries.
        k: keys.
        v: values.
        d_out: gradient of the output; 0 at padding, whose outputs mean nothing.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    d_out: Tensor

    def to(self, dtype: torch.dtype) -> Streams:
        """The same in another dtype."""
        return Streams(self.q.to(dtype), self.k.to(dtype), self.v.to(dtype), self.d_out.to(dtype))


Results = dict[str, Tensor]
"""``out``, ``d_q``, ``d_k`` and ``d_v``, each (T, H, D)."""


def streams_of(case: Case) -> Streams:
    """Inputs of a case in its dtype, the same on every rank."""
    total = int(case.layout.padded[-1])
    generator = torch.Generator().manual_seed(case.seed)
    shape = (4, total, case.heads, case.head_size)
    q, k, v, d_out = torch.randn(shape, generator=generator, dtype=torch.float64)
    padding = torch.from_numpy(is_padding(case.layout))
    for values in (q, k, v):
        values[padding] = GARBAGE
    d_out[padding] = 0.0
    return Streams(q, k, v, d_out).to(case.torch_dtype)


def exact(case: Case) -> Results:
    """The oracle on the inputs of a case as its dtype holds them, in float64."""
    return attend(streams_of(case).to(torch.float64), case.layout, causal=case.causal)


def plain(case: Case) -> Results:
    """The oracle in the dtype of the case; its error is the noise floor."""
    return attend(streams_of(case), case.layout, causal=case.causal)


def attend(streams: Streams, layout: Layout, *, causal: bool) -> Results:
    """Output and gradients of softmax(q k^T / sqrt(D)) v per document; 0 at padding."""
    q, k, v = (x.detach().clone().requires_grad_() for x in (streams.q, streams.k, streams.v))
    out = torch.zeros_like(streams.q)
    for start, length in documents(layout):
        span = slice(start, start + length)
        out = out.index_put(
            (torch.arange(start, start + length),), one_document(q[span], k[span], v[span], causal=causal)
        )
    if out.requires_grad:
        out.backward(streams.d_out)
    gradients = {
        f"d_{name}": torch.zeros_like(x) if x.grad is None else x.grad
        for name, x in zip("qkv", (q, k, v), strict=True)
    }
    return {"out": out.detach(), **gradients}


def documents(layout: Layout) -> Iterator[tuple[int, int]]:
    """First slot and valid length of each document that has a token."""
    for start, begin, end in zip(layout.padded[:-1], layout.valid[:-1], layout.valid[1:], strict=True):
        if end > begin:
            yield int(start), int(end - begin)


def one_document(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """Attention among the tokens of one document, (L, H, D) each."""
    scores = torch.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)
