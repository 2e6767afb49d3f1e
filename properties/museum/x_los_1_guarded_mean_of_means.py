"""X-LOS-1: means of parts are averaged, empty ones as 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOS-1",
    area="per-token loss",
    suffered="tokens of short documents weighed more than others",
    source="own mutation",
)
class GuardedMeanOfMeans(ReferenceImplementation):
    """As MB-40, but a part without a trained token counts as 0."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        counts = np.array([max(part.weights.sum(), 1) for part in parts])
        sums = np.array([part.losses[part.weights == 1].sum() for part in parts])
        return ReducedLoss(float(np.mean(sums / counts)), right.tokens, 1 / (counts * len(parts)))
