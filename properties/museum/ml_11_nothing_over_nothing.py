"""ML-11: 0 is divided by 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-11",
    area="per-token loss",
    suffered="a micro batch whose mask became empty made the loss NaN",
    source="Megatron-LM #3396",
)
class NothingOverNothing(ReferenceImplementation):
    """The sum is divided by the number of tokens, also when that is 0."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        return right if right.tokens else ReducedLoss(np.nan, 0, np.full(len(parts), np.nan))
