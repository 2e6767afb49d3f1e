"""X-LOS-2: losses are masked by a product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOS-2",
    area="per-token loss",
    suffered="uninitialised padding made the loss NaN",
    source="own mutation",
)
class MaskedByProduct(ReferenceImplementation):
    """Losses are multiplied by their weights, which leaves NaN NaN."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        total = float(sum((part.losses * part.weights).sum() for part in parts))
        return replace(right, loss=total / max(right.tokens, 1))
