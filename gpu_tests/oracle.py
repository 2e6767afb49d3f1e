"""Attention of each document on its own, without packing, padding, masks or ranks: what everything else must equal."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpu_tests.cases import Case
from properties.segments import is_padding
from reference_impl.attention import attention
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
    """Output and gradients of the reference; 0 at padding."""
    q, k, v = (x.detach().clone().requires_grad_() for x in (streams.q, streams.k, streams.v))
    out = attention(q, k, v, layout, causal=causal)
    gradients = torch.autograd.grad(out, (q, k, v), streams.d_out)
    return {"out": out.detach(), **dict(zip(("d_q", "d_k", "d_v"), gradients, strict=True))}
