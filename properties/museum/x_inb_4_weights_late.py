"""X-INB-4: loss weights are one slot late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-4",
    area="in-batch",
    suffered="training began one token late",
    source="own mutation",
)
class WeightsLate(ReferenceImplementation):
    """Loss weights are those of tokens, one slot behind the targets that they were meant for."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, loss_mask=None if packed.loss_mask is None else np.roll(packed.loss_mask, 1))
