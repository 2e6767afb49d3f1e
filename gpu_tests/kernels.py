"""PyTorch's attention kernels on packed streams, each behind one signature."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from gpu_tests.cases import Case
from gpu_tests.oracle import Results, streams_of
from properties.segments import is_padding, position_of, segment_of
from reference_impl.batches import Layout

Attend = Callable[[Tensor, Tensor, Tensor, Layout, bool], Tensor]
"""Queries, keys and values (T, H, D), layout, whether causal; output (T, H, D), of no meaning at padding."""


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    Attributes:
        attend: what it does to a stream.
        devices: kinds of devices that it has an implementation for.
        dtypes: names of dtypes that it takes.
        shortest: least tokens of a document that it takes; documents without any are never put to it.
    """

    attend: Attend
    devices: tuple[str, ...] = ("cpu", "cuda")
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16", "float64")
    shortest: int = 1

    def takes(self, case: Case) -> bool:
        """Whether it has an implementation for a case."""
        return case.dtype in self.dtypes and all(n == 0 or n >= self.shortest for n in case.lengths)


def _per_document(backend: SDPBackend) -> Attend:
    def attend(q: Tensor, k: Tensor, v: Tensor, layout: Layout, causal: bool) -> Tensor:
        out = torch.zeros_like(q)
        ends = zip(layout.padded[:-1].tolist(), np.diff(layout.valid).tolist(), strict=True)
        for start, length in ends:
            if length == 0:  # no kernel takes an empty sequence
                continue
            span = slice(start, start + length)
            with sdpa_kernel(backend):
                attended = nn.functional.scaled_dot_product_attention(
                    _heads_first(q[span]), _heads_first(k[span]), _heads_first(v[span]), is_causal=causal
                )
            places = torch.arange(start, start + length, device=q.device)
            out = out.index_put((places,), _slots_first(attended))
        return out

    return attend


def _heads_first(values: Tensor) -> Tensor:
    """(T, H, D) to (1, H, T, D)."""
    return values.transpose(0, 1).unsqueeze(0)


def _slots_first(values: Tensor) -> Tensor:
    """(1, H, T, D) to (T, H, D)."""
    return values.squeeze(0).transpose(0, 1)


def _under_a_mask(q: Tensor, k: Tensor, v: Tensor, layout: Layout, causal: bool) -> Tensor:
    mask = visible(layout, causal).to(q.device)
    return _slots_first(
        nn.functional.scaled_dot_product_attention(_heads_first(q), _heads_first(k), _heads_first(v), attn_mask=mask)
    )


def visible(layout: Layout, causal: bool) -> Tensor:
    """(T, T) bool, which slot sees which; padding also sees itself, so that no row is empty."""
    segment, offset = torch.from_numpy(segment_of(layout)), torch.from_numpy(position_of(layout))
    real = ~torch.from_numpy(is_padding(layout))
    mask = (segment[:, None] == segment[None, :]) & real[None, :]
    if causal:
        mask &= offset[None, :] <= offset[:, None]
    return mask | torch.eye(len(segment), dtype=torch.bool)


def _flex(q: Tensor, k: Tensor, v: Tensor, layout: Layout, causal: bool) -> Tensor:
    mask = visible(layout, causal).to(q.device)
    total = len(mask)

    def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        del batch, head
        return mask[query, key]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends to be compiled, which takes minutes
        block_mask = create_block_mask(sees, None, None, total, total, device=q.device.type)
        out = flex_attention(_heads_first(q), _heads_first(k), _heads_first(v), block_mask=block_mask)
    assert isinstance(out, Tensor)
    return _slots_first(out)


def _varlen(q: Tensor, k: Tensor, v: Tensor, layout: Layout, causal: bool) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn  # noqa: PLC0415 - only newer releases of torch have it

    real = (~torch.from_numpy(is_padding(layout))).nonzero().squeeze(1).to(q.device)
    boundaries = torch.from_numpy(layout.valid.astype(np.int32)).to(q.device)
    longest = int(np.diff(layout.valid).max(initial=0))
    window = (-1, 0) if causal else (-1, -1)
    out = varlen_attn(q[real], k[real], v[real], boundaries, boundaries, longest, longest, window_size=window)
    assert isinstance(out, Tensor)
    return torch.zeros_like(q).index_put((real,), out)


def run(kernel: Kernel, case: Case, device: str) -> Results:
    """Output and gradients of a kernel on a case, (T, H, D) each, on the CPU."""
    streams = streams_of(case)
    q, k, v = (x.to(device).requires_grad_() for x in (streams.q, streams.k, streams.v))
    out = kernel.attend(q, k, v, case.layout, case.causal)
    gradients = torch.autograd.grad(out, (q, k, v), streams.d_out.to(device))
    results = {"out": out, **dict(zip(("d_q", "d_k", "d_v"), gradients, strict=True))}
    return {name: value.detach().cpu() for name, value in results.items()}


KERNELS: Mapping[str, Kernel] = {
    "sdpa math": Kernel(_per_document(SDPBackend.MATH)),
    "sdpa flash": Kernel(_per_document(SDPBackend.FLASH_ATTENTION), ("cpu",)),
    "sdpa flash on cuda": Kernel(_per_document(SDPBackend.FLASH_ATTENTION), ("cuda",), ("bfloat16", "float16")),
    "sdpa efficient": Kernel(
        _per_document(SDPBackend.EFFICIENT_ATTENTION), ("cuda",), ("float32", "bfloat16", "float16")
    ),
    # torch 2.11 on an H200 has no cuDNN kernel for a single token.
    "sdpa cudnn": Kernel(_per_document(SDPBackend.CUDNN_ATTENTION), ("cuda",), ("bfloat16", "float16"), shortest=2),
    "sdpa under a mask": Kernel(_under_a_mask),
    "flex": Kernel(_flex, ("cuda",)),  # on a CPU it has no backward
    "varlen": Kernel(_varlen, ("cuda",), ("bfloat16", "float16")),
}
"""Kernels by name."""
