"""MB-18: the first tokens of a row are taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-18",
    area="in-batch",
    suffered="left-padded rows were packed with their padding and without their end",
    source="Megatron-Bridge #3331 (bridge-packing S22)",
)
class LeftPaddingPacked(ReferenceImplementation):
    """As many tokens as the mask counts are taken from the start of a row, wherever they are."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        if batch.padding_mask is not None:
            counts = batch.padding_mask.sum(axis=1, keepdims=True)
            batch = replace(batch, padding_mask=np.arange(batch.tokens.shape[1]) < counts)
        return super().pack_in_batch(batch, multiple, pad_id)
