"""Slicing and attention on CP ranks, and a whole attention layer on TP x CP ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from gpu_tests.cases import Case, Method
from gpu_tests.oracle import Streams, streams_of
from gpu_tests.parallel.all_gather import all_gather_attention
from gpu_tests.parallel.all_to_all import all_to_all_attention
from gpu_tests.parallel.cut import Cut, cut
from gpu_tests.parallel.exchange import add_up, copy_to, gather, scatter_sum
from gpu_tests.parallel.ring import ring_attention
from gpu_tests.programs import implementation_of
from gpu_tests.ranks.fabric import Fabric
from reference_impl.ranks import AttentionInputs, Exchange

METHODS: dict[Method, Callable[..., Tensor]] = {
    "ring": ring_attention,
    "all_gather": all_gather_attention,
    "all_to_all": all_to_all_attention,
}
"""Ways to attend across CP ranks, all with the signature of ``ring_attention``."""


def attention(fabric: Fabric, target: str, case: Case, method: Method) -> dict[str, Tensor]:
    """Attend to this rank's slots of a stream.

    Returns:
        ``slots`` (T / W,) of this rank, and ``out``, ``d_q``, ``d_k``, ``d_v`` (T / W, H, D) at these slots.
    """
    rank, world = fabric.context.rank, fabric.context.size
    ours, local = fabric.agree(lambda: _prepare(target, case, world, rank))
    q, k, v = (x.to(fabric.device).requires_grad_() for x in (local.q, local.k, local.v))
    out = METHODS[method](q, k, v, ours, fabric.context, causal=case.causal)
    gradients = torch.autograd.grad(out, (q, k, v), local.d_out.to(fabric.device))
    return {"slots": ours.own, "out": out, **dict(zip(("d_q", "d_k", "d_v"), gradients, strict=True))}


def _prepare(target: str, case: Case, world: int, rank: int) -> tuple[Cut, Streams]:
    ours = cut(implementation_of(target), case.layout, world, rank)
    whole = streams_of(case)
    return ours, Streams(*(x[ours.own].clone() for x in (whole.q, whole.k, whole.v, whole.d_out)))


def simulated_attention(
    fabric: Fabric, target: str, case: Case, inputs: AttentionInputs, method: Method
) -> dict[str, Tensor]:
    """What a target's own operation says that all ranks compute together, (T, H, D) float64 each."""
    del fabric
    told = implementation_of(target).attention(inputs, case.layout, case.context, Exchange(method), case.causal)
    named = {"out": told.out, "d_q": told.grad_q, "d_k": told.grad_k, "d_v": told.grad_v}
    return {name: torch.from_numpy(np.array(values)) for name, values in named.items()}


def layer(fabric: Fabric, target: str, case: Case) -> dict[str, Tensor]:
    """An attention layer: heads split over TP ranks, slots cut over CP ranks and, with SP, scattered over TP ranks.

    Returns:
        ``slots`` of this rank; ``out`` and ``d_x`` (slots, hidden) at them; ``d_w_qkv`` (3, H / TP, D, hidden) and
        ``d_w_out`` (H / TP, D, hidden) of this rank's heads, summed over the CP ranks.
    """
    world, rank, tensor = fabric.context.size, fabric.context.rank, fabric.tensor
    ours = fabric.agree(lambda: cut(implementation_of(target), case.layout, world, rank))
    whole_x, whole_qkv, whole_out, whole_d_out = layer_weights(case)
    slots = ours.own.chunk(tensor.size)[tensor.rank] if case.sequence_parallel else ours.own
    x = whole_x[slots].to(fabric.device).requires_grad_()
    w_qkv = whole_qkv.chunk(tensor.size, dim=1)[tensor.rank].to(fabric.device).contiguous().requires_grad_()
    w_out = whole_out.chunk(tensor.size, dim=0)[tensor.rank].to(fabric.device).contiguous().requires_grad_()
    hidden = gather(x, tensor) if case.sequence_parallel else copy_to(x, tensor)
    q, k, v = torch.einsum("th,cndh->ctnd", hidden, w_qkv)
    attended = ring_attention(q, k, v, ours, fabric.context, causal=case.causal)
    partial = torch.einsum("tnd,ndh->th", attended, w_out)
    out = scatter_sum(partial, tensor) if case.sequence_parallel else add_up(partial, tensor)
    d_x, d_qkv, d_w_out = torch.autograd.grad(out, (x, w_qkv, w_out), whole_d_out[slots].to(fabric.device))
    sums = {"d_w_qkv": d_qkv, "d_w_out": d_w_out}
    return {
        "slots": slots, "out": out, "d_x": d_x,
        **{name: add_up(value, fabric.context) for name, value in sums.items()},
    }  # fmt: skip


def layer_weights(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Input (T, hidden), weights (3, H, D, hidden) and (H, D, hidden), and gradient of the output (T, hidden)."""
    streams = streams_of(case)
    hidden = case.heads * case.head_size
    generator = torch.Generator().manual_seed(case.seed + 1)
    shapes = (3, case.heads, case.head_size, hidden), (case.heads, case.head_size, hidden)
    weights = [torch.randn(shape, generator=generator, dtype=torch.float64) * hidden**-0.5 for shape in shapes]
    w_qkv, w_out = (weight.to(case.torch_dtype) for weight in weights)
    return streams.q.flatten(1), w_qkv, w_out, streams.d_out.flatten(1)
