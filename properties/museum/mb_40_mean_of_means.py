"""MB-40-mean: means of parts are averaged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-40-mean",
    area="per-token loss",
    suffered="a rank that owned only prompts made the loss NaN",
    source="Megatron-Bridge #374",
)
class MeanOfMeans(ReferenceImplementation):
    """The loss is the mean of the parts' own means, 0 / 0 where a part trains nothing."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            counts = np.array([part.weights.sum() for part in parts])
            sums = np.array([part.losses[part.weights == 1].sum() for part in parts])
            return ReducedLoss(float(np.mean(sums / counts)), right.tokens, 1 / (counts * len(parts)))
