"""X-LOS-3: all slots are counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOS-3",
    area="per-token loss",
    suffered="the loss shrank with the length of prompts",
    source="own mutation",
)
class SlotsCounted(ReferenceImplementation):
    """All slots are counted as trained tokens."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        slots = sum(part.losses.size for part in parts)
        return ReducedLoss(right.loss * right.tokens / slots, slots, np.full(len(parts), 1 / slots))
