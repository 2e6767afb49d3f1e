"""A model of one layer, in float64, that notices every array of a batch.

Absolute positions are embedded; queries and keys are rotated. Rotation alone sees only distances inside a document, so
that positions which are off by a constant would pass; queries are therefore scaled by their position, too. A second
head predicts the token after the next one (MTP).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gpu_tests.cases import Case
from gpu_tests.programs.texts import VOCABULARY

POSITIONS = 256
"""Rows of the table of absolute positions, more than any stream of the cases has slots."""
ROPE_BASE = 10_000.0
"""Of the angles (arXiv 2104.09864)."""

Weights = dict[str, Tensor]
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries, keys and values (T, H, D) to outputs (T, H, D)."""


@dataclass(frozen=True, eq=False)
class Slots:
    """What the model gets of some slots, each (T,).

    Attributes:
        tokens: inputs.
        labels: what they should predict.
        weights: of their losses.
        positions: absolute ones, embedded.
        scaled: absolute ones, which queries are scaled by.
        rotary: those that queries and keys are rotated by.
        next_labels: what the second head should predict.
        next_weights: of its losses.
    """

    tokens: Tensor
    labels: Tensor
    weights: Tensor
    positions: Tensor
    scaled: Tensor
    rotary: Tensor
    next_labels: Tensor
    next_weights: Tensor

    def checked(self) -> Slots:
        """The same, if an embedding can look all of it up; on a device it would take the process along.

        Raises:
            ValueError: it cannot.
        """
        total = len(self.tokens)
        for name, values in vars(self).items():
            if values.shape != (total,):
                raise ValueError(f"{name} has shape {tuple(values.shape)} beside {total} tokens")
        for name, values, limit in (("token", self.tokens, VOCABULARY), ("position", self.positions, POSITIONS)):
            if total and not 0 <= int(values.min()) <= int(values.max()) < limit:
                raise ValueError(f"a {name} of {values.tolist()} is not from 0 to {limit - 1}")
        return self

    def to(self, device: torch.device) -> Slots:
        """The same on a device."""
        return Slots(**{name: values.to(device) for name, values in vars(self).items()})


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
        "next head": (VOCABULARY, hidden),
    }
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) * hidden**-0.5
        for name, shape in shapes.items()
    }


def losses(weights: Weights, slots: Slots, attend: Attend) -> tuple[Tensor, Tensor]:
    """Losses of every slot (T,): of the next token, and of the one after it."""
    hidden = weights["tokens"][slots.tokens] + weights["positions"][slots.positions]
    q, k, v = torch.einsum("th,cndh->ctnd", hidden, weights["qkv"])
    scale = 1 + torch.log1p(slots.scaled.double())[:, None, None]
    attended = attend(scale * rotate(q, slots.rotary), rotate(k, slots.rotary), v)
    hidden = hidden + torch.einsum("tnd,ndh->th", attended, weights["out"])
    features = torch.tanh(hidden)
    return (
        nn.functional.cross_entropy(features @ weights["head"].T, slots.labels, reduction="none"),
        nn.functional.cross_entropy(features @ weights["next head"].T, slots.next_labels, reduction="none"),
    )


def rotate(values: Tensor, positions: Tensor) -> Tensor:
    """RoPE of (T, H, D) values at positions (T,), halves paired (arXiv 2104.09864, as GPT-NeoX pairs them)."""
    half = values.shape[-1] // 2
    frequencies = ROPE_BASE ** (-torch.arange(half, dtype=torch.float64, device=values.device) / half)
    angles = positions[:, None, None] * frequencies
    first, second = values.chunk(2, dim=-1)
    return torch.cat(
        [first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], dim=-1
    )
