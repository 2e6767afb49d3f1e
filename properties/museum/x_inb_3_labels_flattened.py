"""X-INB-3: labels are flattened, not packed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-3",
    area="in-batch",
    suffered="the loss compared tokens with the targets of others",
    source="own mutation",
)
class LabelsFlattened(ReferenceImplementation):
    """Labels of the rows are flattened with their padding and cut to the length of the stream."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, labels=None if batch.labels is None else np.resize(batch.labels, packed.tokens.shape))
