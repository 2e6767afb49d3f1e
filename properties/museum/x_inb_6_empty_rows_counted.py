"""X-INB-6: an empty row is a segment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import real_tokens, valid_per_segment
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-6",
    area="in-batch",
    suffered="an empty row added a segment that no image or label belonged to",
    source="own mutation",
)
class EmptyRowsCounted(ReferenceImplementation):
    """A row without a real token contributes a segment of no slot."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        lengths = np.zeros(batch.tokens.shape[0], dtype=np.int64)
        lengths[real_tokens(batch, pad_id).any(axis=1)] = valid_per_segment(packed.layout)
        return replace(packed, layout=self.pad_layout(lengths, multiple))
