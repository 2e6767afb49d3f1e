"""One training step on CP ranks: pack, slice, embed, rotate, attend, loss, reduce.

A model of one layer without normalisation, in float64, small enough to be written here and rich enough to notice
every array of the batch: absolute positions are embedded, queries and keys are rotated, prompts do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from gpu_tests.cases import Case
from gpu_tests.parallel.cut import Cut, cut
from gpu_tests.parallel.ring import ring_attention
from gpu_tests.programs import implementation_of
from gpu_tests.ranks.fabric import Fabric
from reference_impl.attention import attention
from reference_impl.batches import Layout, PaddedBatch, ThdBatch
from reference_impl.interface import Implementation

VOCABULARY = 40
PAD_ID = 3
"""Also a token of the documents, so that nobody tells padding by it."""
PROMPT_SHARE = 0.3
"""The first part of each document, which does not count in the loss."""
ROPE_BASE = 10_000.0
"""Of the angles (arXiv 2104.09864)."""

Weights = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Text:
    """One document.

    Attributes:
        tokens: (L + 1,) of which the last is only a label.
        weights: (L,) of the loss at each input.
    """

    tokens: Tensor
    weights: Tensor


def training_step(fabric: Fabric, target: str, case: Case) -> dict[str, Any]:
    """Forward and backward on this rank's slots, then what the ranks make of it together.

    Returns:
        ``losses`` and ``tokens`` of this rank; ``total`` and ``count`` of all; ``gradients`` of the token mean by name
        under ``per_token``, ``mean_of_means`` and ``average_in_collective``.
    """
    group = fabric.context
    local, ours = fabric.agree(lambda: _prepare(implementation_of(target), case, group.size, group.rank))
    weights = {name: weight.to(fabric.device).requires_grad_() for name, weight in initial_weights(case).items()}
    attend = _over_ranks(ours, fabric)
    summed, tokens = loss_sum(weights, local, attend)
    gradients = dict(zip(weights, torch.autograd.grad(summed, list(weights.values())), strict=True))

    def total(value: Tensor) -> Tensor:
        everywhere = value.detach().clone()
        dist.all_reduce(everywhere, group=group.handle)
        return everywhere

    count = total(tokens)
    own_mean = {name: gradient / tokens.clamp(min=1) for name, gradient in gradients.items()}
    per_token = {name: total(gradient) / count for name, gradient in gradients.items()}
    return {
        "losses": summed,
        "tokens": tokens,
        "total": total(summed),
        "count": count,
        "per_token": per_token,
        # As without per-token loss: every rank divides by its own tokens, and ranks count alike.
        "mean_of_means": {name: total(gradient) / group.size for name, gradient in own_mean.items()},
        # As DDP with average_in_collective: the collective divides by the ranks, then the tokens divide once more.
        "average_in_collective": {name: gradient / group.size for name, gradient in per_token.items()},
    }


def _prepare(implementation: Implementation, case: Case, world: int, rank: int) -> tuple[ThdBatch, Cut]:
    batch = implementation.pack_in_batch(padded_batch(texts_of(case)), 2 * world if world > 1 else 1, PAD_ID)
    ours = cut(implementation, batch.layout, world, rank)
    local = implementation.slice_batch(batch, world, rank)
    arrays = {"tokens": local.tokens, "labels": local.labels, "loss_mask": local.loss_mask}
    for name, array in arrays.items():
        if array is None or array.shape != (len(ours.own),):
            raise ValueError(f"{name} of rank {rank} should have {len(ours.own)} entries")
    _check_vocabulary(local)
    return local, ours


def _check_vocabulary(local: ThdBatch) -> None:
    """What an embedding would die of, said beforehand; on a device it would take the process along."""
    if local.tokens.min(initial=0) < 0 or local.tokens.max(initial=0) >= VOCABULARY:
        raise ValueError(f"tokens {local.tokens.tolist()} are not all in the vocabulary of {VOCABULARY}")
    if local.position_ids.min(initial=0) < 0 or local.position_ids.max(initial=0) >= POSITIONS:
        raise ValueError(f"positions {local.position_ids.tolist()} are not all below {POSITIONS}")


POSITIONS = 256
"""Rows of the table of absolute positions, more than any stream of the cases has slots."""


def texts_of(case: Case) -> list[Text]:
    """Documents of the lengths of a case, the empty ones left out: a batch has no row for them."""
    generator = torch.Generator().manual_seed(case.seed)
    texts: list[Text] = []
    for length in filter(None, case.lengths):
        tokens = torch.randint(VOCABULARY, (length + 1,), generator=generator)
        weights = torch.ones(length, dtype=torch.float64)
        weights[: int(PROMPT_SHARE * length)] = 0.0
        texts.append(Text(tokens, weights))
    return texts


def padded_batch(texts: list[Text]) -> PaddedBatch:
    """The documents as rows, padded on the right; padding has nonsense everywhere but in the padding mask."""
    width = max(len(text.weights) for text in texts)
    shape = (len(texts), width)
    batch = PaddedBatch(
        tokens=np.full(shape, PAD_ID, dtype=np.int64),
        labels=np.full(shape, PAD_ID, dtype=np.int64),
        loss_mask=np.ones(shape),
        position_ids=np.tile(np.arange(width, dtype=np.int64), (len(texts), 1)),
        padding_mask=np.zeros(shape, dtype=np.bool_),
    )
    assert batch.labels is not None
    assert batch.loss_mask is not None
    assert batch.padding_mask is not None
    for row, text in enumerate(texts):
        real = slice(0, len(text.weights))
        batch.tokens[row, real] = text.tokens[:-1]
        batch.labels[row, real] = text.tokens[1:]
        batch.loss_mask[row, real] = text.weights
        batch.padding_mask[row, real] = True
    return batch


def initial_weights(case: Case) -> Weights:
    """Weights of the model, float64: embeddings of tokens and positions, projections, output."""
    hidden = case.heads * case.head_size
    generator = torch.Generator().manual_seed(case.seed + 1)
    shapes = {
        "tokens": (VOCABULARY, hidden),
        "positions": (POSITIONS, hidden),
        "qkv": (3, case.heads, case.head_size, hidden),
        "out": (case.heads, case.head_size, hidden),
        "head": (VOCABULARY, hidden),
    }
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) * hidden**-0.5
        for name, shape in shapes.items()
    }


Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def _over_ranks(ours: Cut, fabric: Fabric) -> Attend:
    return lambda q, k, v: ring_attention(q, k, v, ours, fabric.context, causal=True)


def loss_sum(weights: Weights, batch: ThdBatch, attend: Attend) -> tuple[Tensor, Tensor]:
    """Weighted sum of the token losses of a stream, or of a rank's part of it, and the sum of the weights."""
    device = weights["tokens"].device
    tokens, positions = (torch.from_numpy(x).to(device) for x in (batch.tokens, batch.position_ids))
    hidden = weights["tokens"][tokens] + weights["positions"][positions]
    q, k, v = torch.einsum("th,cndh->ctnd", hidden, weights["qkv"])
    attended = attend(rotate(q, positions), rotate(k, positions), v)
    hidden = hidden + torch.einsum("tnd,ndh->th", attended, weights["out"])
    logits = torch.tanh(hidden) @ weights["head"].T
    assert batch.labels is not None
    assert batch.loss_mask is not None
    labels, counts = (torch.from_numpy(x).to(device) for x in (batch.labels, batch.loss_mask))
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    return (losses * counts).sum(), counts.sum()


def rotate(values: Tensor, positions: Tensor) -> Tensor:
    """RoPE of (T, H, D) values at positions (T,), halves paired (arXiv 2104.09864, as GPT-NeoX pairs them)."""
    half = values.shape[-1] // 2
    frequencies = ROPE_BASE ** (-torch.arange(half, dtype=torch.float64, device=values.device) / half)
    angles = positions[:, None, None] * frequencies
    first, second = values.chunk(2, dim=-1)
    return torch.cat(
        [first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], dim=-1
    )


def unpacked(case: Case) -> dict[str, Any]:
    """The same step document by document, without packing or ranks: what every packed run must give."""
    weights = {name: weight.requires_grad_() for name, weight in initial_weights(case).items()}
    sums = [loss_sum(weights, _alone(text), _alone_attention(text)) for text in texts_of(case)]
    total, count = (torch.stack(values).sum() for values in zip(*sums, strict=True))
    gradients = torch.autograd.grad(total / count, list(weights.values()))
    return {"total": total.detach(), "count": count, "per_token": dict(zip(weights, gradients, strict=True))}


def _alone(text: Text) -> ThdBatch:
    length = len(text.weights)
    return ThdBatch(
        tokens=text.tokens[:-1].numpy(),
        labels=text.tokens[1:].numpy(),
        loss_mask=text.weights.numpy(),
        position_ids=np.arange(length),
        layout=_layout(length),
        max_seqlen=length,
    )


def _alone_attention(text: Text) -> Attend:
    return lambda q, k, v: attention(q, k, v, _layout(len(text.weights)))


def _layout(length: int) -> Layout:
    ends = np.array([0, length], dtype=np.int64)
    return Layout(ends, ends)
