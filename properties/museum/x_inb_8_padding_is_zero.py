"""X-INB-8: padding holds 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import is_padding
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-8",
    area="in-batch",
    suffered="padding held a token that the model knows",
    source="own mutation",
)
class PaddingIsZero(ReferenceImplementation):
    """Alignment padding holds 0, whatever the pad id is."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, tokens=np.where(is_padding(packed.layout), 0, packed.tokens))
