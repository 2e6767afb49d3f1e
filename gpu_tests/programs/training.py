"""One training step on CP ranks: pack, slice, embed, rotate, attend, reduce; and the same without any of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from gpu_tests.cases import Case
from gpu_tests.parallel.cut import Cut, cut
from gpu_tests.parallel.ring import ring_attention
from gpu_tests.programs import implementation_of
from gpu_tests.programs.model import Attend, Slots, Weights, initial_weights, loss_sum
from gpu_tests.programs.texts import Source, alone, batches, texts_of
from gpu_tests.ranks.fabric import Fabric
from reference_impl.attention import attention
from reference_impl.batches import Layout
from reference_impl.interface import Implementation


def training_step(fabric: Fabric, target: str, case: Case, source: Source) -> dict[str, Any]:
    """Forward and backward on this rank's slots, then what the ranks make of it together.

    Returns:
        ``tokens`` that count on this rank; ``total`` loss and ``count`` of all; gradients of the token mean by name
        under ``per_token``, ``mean_of_means`` and ``average_in_collective``.
    """
    group = fabric.context
    micro_batches = fabric.agree(lambda: _prepare(implementation_of(target), case, source, group.size, group.rank))
    weights = {name: weight.to(fabric.device).requires_grad_() for name, weight in initial_weights(case).items()}
    summed, tokens = torch.zeros(2, dtype=torch.float64, device=fabric.device)
    for slots, ours in micro_batches:
        local = slots.to(fabric.device)
        summed = summed + loss_sum(weights, local, _over_ranks(ours, fabric))
        tokens = tokens + local.weights.sum()
    gradients = dict(zip(weights, torch.autograd.grad(summed, list(weights.values())), strict=True))

    def total(value: Tensor) -> Tensor:
        everywhere = value.detach().clone()
        dist.all_reduce(everywhere, group=group.handle)
        return everywhere

    return {"tokens": tokens, "total": total(summed), **_averaged(gradients, tokens, group.size, total)}


def _averaged(gradients: Weights, tokens: Tensor, world: int, total: Callable[[Tensor], Tensor]) -> dict[str, Any]:
    count = total(tokens)
    own_mean = {name: gradient / tokens.clamp(min=1) for name, gradient in gradients.items()}
    per_token = {name: total(gradient) / count for name, gradient in gradients.items()}
    return {
        "count": count,
        "per_token": per_token,
        # As without per-token loss: every rank divides by its own tokens, and ranks count alike.
        "mean_of_means": {name: total(gradient) / world for name, gradient in own_mean.items()},
        # As DDP with average_in_collective: the collective divides by the ranks, then the tokens divide once more.
        "average_in_collective": {name: gradient / world for name, gradient in per_token.items()},
    }


def _prepare(
    implementation: Implementation, case: Case, source: Source, world: int, rank: int
) -> list[tuple[Slots, Cut]]:
    prepared: list[tuple[Slots, Cut]] = []
    for batch in batches(implementation, texts_of(case), source, world):
        ours = cut(implementation, batch.layout, world, rank)
        local = implementation.slice_batch(batch, world, rank)
        rotary = np.asarray(implementation.position_ids(batch.layout))[ours.own.numpy()]
        if local.labels is None or local.loss_mask is None:
            raise ValueError("the batch lost its labels or its loss mask")
        arrays = (local.tokens, local.labels, local.loss_mask, local.position_ids, rotary)
        slots = Slots(*(torch.from_numpy(np.array(array)) for array in arrays)).checked()
        if len(slots.tokens) != len(ours.own):
            raise ValueError(f"rank {rank} holds {len(slots.tokens)} tokens for {len(ours.own)} slots")
        prepared.append((slots, ours))
    return prepared


def _over_ranks(ours: Cut, fabric: Fabric) -> Attend:
    return lambda q, k, v: ring_attention(q, k, v, ours, fabric.context, causal=True)


def unpacked(case: Case, source: Source) -> dict[str, Any]:
    """The same step document by document, without packing or ranks: what every packed run must give."""
    weights = {name: weight.requires_grad_() for name, weight in initial_weights(case).items()}
    summed, tokens = torch.zeros(2, dtype=torch.float64)
    for text in texts_of(case):
        arrays = [torch.from_numpy(np.array(array)) for array in alone(text, source)]
        slots = Slots(*arrays, rotary=torch.arange(len(arrays[0]))).checked()
        summed = summed + loss_sum(weights, slots, _one_document(len(arrays[0])))
        tokens = tokens + slots.weights.sum()
    gradients = torch.autograd.grad(summed / tokens, list(weights.values()))
    return {"total": summed.detach(), "count": tokens, "per_token": dict(zip(weights, gradients, strict=True))}


def _one_document(length: int) -> Attend:
    ends = np.array([0, length], dtype=np.int64)
    return lambda q, k, v: attention(q, k, v, Layout(ends, ends))
