"""X-INB-10: padding weighs 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import is_padding
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-10",
    area="in-batch",
    suffered="padding was trained",
    source="own mutation",
)
class PaddingWeighs(ReferenceImplementation):
    """Alignment padding weighs 1 in the loss."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        if packed.loss_mask is None:
            return packed
        return replace(packed, loss_mask=np.where(is_padding(packed.layout), 1.0, packed.loss_mask))
