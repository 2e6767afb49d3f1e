"""X-INB-5: positions run on over the stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-5",
    area="in-batch",
    suffered="later documents were rotated as if they continued the first",
    source="own mutation",
)
class PositionsRunOn(ReferenceImplementation):
    """Positions count the slots of the whole stream."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, position_ids=np.arange(packed.tokens.size))
