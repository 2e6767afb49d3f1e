"""S33: lengths are counts of other tokens than the pad id."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "S33",
    area="in-batch",
    suffered="documents with a pad id inside lost their end",
    source="Megatron-Bridge 0.5.1, nemotron-omni collate",
)
class PadTokensShortenRows(ReferenceImplementation):
    """Without a mask, a row is as long as it has tokens other than the pad id."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        if batch.padding_mask is None:
            counts = (batch.tokens != pad_id).sum(axis=1, keepdims=True)
            batch = replace(batch, padding_mask=np.arange(batch.tokens.shape[1]) < counts)
        return super().pack_in_batch(batch, multiple, pad_id)
