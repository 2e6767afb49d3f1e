"""X-LOS-4: tokens of the first part are counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOS-4",
    area="per-token loss",
    suffered="the first micro batch decided the learning rate",
    source="own mutation",
)
class TokensOfTheFirst(ReferenceImplementation):
    """The number of tokens is that of the first part, times the parts."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        tokens = int(parts[0].weights.sum()) * len(parts)
        scale = 1 / max(tokens, 1)
        return ReducedLoss(right.loss * right.tokens * scale, tokens, np.full(len(parts), scale))
