"""One training step on CP ranks: pack, slice, embed, rotate, attend, reduce; and the same without any of that."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from gpu_tests.cases import Case
from gpu_tests.parallel.cut import Cut, cut
from gpu_tests.parallel.ring import ring_attention
from gpu_tests.programs import implementation_of
from gpu_tests.programs.model import Attend, Slots, Weights, initial_weights, losses
from gpu_tests.programs.texts import Source, alone, batches, texts_of
from gpu_tests.ranks.fabric import Fabric
from reference_impl.attention import attention
from reference_impl.batches import Layout, ThdBatch
from reference_impl.interface import Implementation
from reference_impl.ranks import Borders, LossPart, ReducedLoss, RotaryMode

MTP_SCALE = 0.3
"""Weight of the loss of the second head; any that is not small beside 1."""


def training_step(fabric: Fabric, target: str, case: Case, source: Source) -> dict[str, Any]:
    """Forward and backward on this rank's slots, then what the ranks make of it together.

    Returns:
        ``tokens`` that count on this rank; ``loss`` and ``count`` of all; gradients by name under ``per_token``,
        ``mean_of_means`` and ``average_in_collective``.
    """
    group = fabric.context
    implementation = implementation_of(target)
    micro_batches = fabric.agree(lambda: _prepare(implementation, case, source, group.size, group.rank))
    weights = {name: weight.to(fabric.device).requires_grad_() for name, weight in initial_weights(case).items()}
    heads: tuple[list[Tensor], list[Tensor]] = ([], [])
    counts: tuple[list[Tensor], list[Tensor]] = ([], [])
    for slots, ours in micro_batches:
        local = slots.to(fabric.device)
        found = losses(weights, local, _over_ranks(ours, fabric))
        for head, (values, count) in enumerate(zip(found, (local.weights, local.next_weights), strict=True)):
            heads[head].append(values)
            counts[head].append(count)
    reduced = [_reduce(fabric, implementation, heads[head], counts[head]) for head in (0, 1)]
    results = [_averaged(fabric, weights, heads[head], counts[head], reduced[head][1]) for head in (0, 1)]
    combined = {
        way: {name: results[0][way][name] + MTP_SCALE * results[1][way][name] for name in weights}
        for way in results[0]
    }
    main, following = reduced[0][0], reduced[1][0]
    return {
        "tokens": sum(float(count.sum()) for count in counts[0]),
        "loss": torch.tensor(main.loss + MTP_SCALE * following.loss, dtype=torch.float64),
        "count": torch.tensor([main.tokens, following.tokens]),
        **combined,
    }


def idle_step(fabric: Fabric, target: str) -> tuple[float, list[float]]:
    """What the ranks make of a batch in which nothing is trained: its loss, and the scales of its gradients."""
    nothing = torch.zeros(3, dtype=torch.float64, device=fabric.device)
    reduced, scales = _reduce(fabric, implementation_of(target), [nothing], [nothing])
    return reduced.loss, scales


def _reduce(
    fabric: Fabric, implementation: Implementation, values: list[Tensor], counts: list[Tensor]
) -> tuple[ReducedLoss, list[float]]:
    """The loss of all ranks, and the scale of each micro batch of this one."""
    own = [
        # What does not count may be anything, such as the loss of a label that is none.
        LossPart(value.detach().masked_fill(count == 0, torch.nan).cpu().numpy(), count.cpu().numpy())
        for value, count in zip(values, counts, strict=True)
    ]
    everyone: list[Any] = [None] * fabric.context.size
    dist.all_gather_object(everyone, own, group=fabric.context.handle)
    parts = [part for rank in everyone for part in rank]
    reduced = fabric.agree(lambda: implementation.reduce_loss(parts))
    first = fabric.context.rank * len(own)
    return reduced, [float(scale) for scale in reduced.scales[first : first + len(own)]]


def _averaged(
    fabric: Fabric, weights: Weights, values: list[Tensor], counts: list[Tensor], scales: list[float]
) -> dict[str, Weights]:
    """The gradient of one head's loss, averaged over the ranks in three ways."""
    world = fabric.context.size

    def gradients(factors: list[float]) -> Weights:
        summed = torch.stack(
            [f * (value * count).sum() for f, value, count in zip(factors, values, counts, strict=True)]
        ).sum()
        found = torch.autograd.grad(
            summed, list(weights.values()), retain_graph=True, allow_unused=True, materialize_grads=True
        )
        found = [gradient.contiguous() for gradient in found]  # NCCL takes no other
        for gradient in found:
            dist.all_reduce(gradient, group=fabric.context.handle)
        return dict(zip(weights, found, strict=True))

    per_token = gradients(scales)
    own_tokens = max(sum(float(count.sum()) for count in counts), 1.0)
    return {
        "per_token": per_token,
        # As without per-token loss: every rank divides by its own tokens, and ranks count alike.
        "mean_of_means": gradients([1 / own_tokens / world] * len(values)),
        # As DDP with average_in_collective: the collective divides by the ranks, then the tokens divide once more.
        "average_in_collective": {name: gradient / world for name, gradient in per_token.items()},
    }


def _prepare(
    implementation: Implementation, case: Case, source: Source, world: int, rank: int
) -> list[tuple[Slots, Cut]]:
    prepared: list[tuple[Slots, Cut]] = []
    for batch in batches(implementation, texts_of(case), source, world):
        ours = cut(implementation, batch.layout, world, rank)
        slots = _slots_of(implementation, batch, ours).checked()
        if len(slots.tokens) != len(ours.own):
            raise ValueError(f"rank {rank} holds {len(slots.tokens)} tokens for {len(ours.own)} slots")
        prepared.append((slots, ours))
    return prepared


def _slots_of(implementation: Implementation, batch: ThdBatch, ours: Cut) -> Slots:
    layout, world, rank = batch.layout, ours.world, ours.rank
    local = implementation.slice_batch(batch, world, rank)
    if batch.labels is None or batch.loss_mask is None or local.labels is None or local.loss_mask is None:
        raise ValueError("the batch lost its labels or its loss mask")
    rolled = [
        implementation.roll(values, layout, world, 1, Borders.VALID)[rank]
        for values in (batch.labels, batch.loss_mask.astype(np.int64))
    ]
    arrays = (
        local.tokens,
        local.labels,
        local.loss_mask,
        local.position_ids,
        np.asarray(implementation.position_ids(layout))[ours.own.numpy()],
        implementation.rotary_rows(layout, world, rank, RotaryMode.RESTART),
        rolled[0],
        rolled[1].astype(np.float64),
    )
    return Slots(*(torch.from_numpy(np.array(array)) for array in arrays))


def _over_ranks(ours: Cut, fabric: Fabric) -> Attend:
    return lambda q, k, v: ring_attention(q, k, v, ours, fabric.context, causal=True)


def unpacked(case: Case, source: Source) -> dict[str, Any]:
    """The same step document by document, without packing or ranks: what every packed run must give."""
    weights = {name: weight.requires_grad_() for name, weight in initial_weights(case).items()}
    summed, tokens = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for text in texts_of(case):
        arrays = [torch.from_numpy(np.array(array)) for array in alone(text, source)]
        inputs, labels, counts, positions = arrays
        following = [torch.cat([values[1:], torch.zeros_like(values[:1])]) for values in (labels, counts)]
        offsets = torch.arange(len(inputs))
        slots = Slots(
            inputs, labels, counts.double(), positions, offsets, offsets, following[0], following[1].double()
        )
        found = losses(weights, slots, _one_document(len(inputs)))
        both = (slots.weights, slots.next_weights)
        summed = summed + torch.stack([(value * count).sum() for value, count in zip(found, both, strict=True)])
        tokens = tokens + torch.stack([count.sum() for count in both])
    objective = (summed / tokens * torch.tensor([1.0, MTP_SCALE], dtype=torch.float64)).sum()
    gradients = torch.autograd.grad(objective, list(weights.values()))
    return {
        "loss": objective.detach(),
        "count": tokens.long(),
        "per_token": dict(zip(weights, gradients, strict=True)),
    }


def _one_document(length: int) -> Attend:
    ends = np.array([0, length], dtype=np.int64)
    return lambda q, k, v: attention(q, k, v, Layout(ends, ends))
