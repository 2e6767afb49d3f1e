"""MB-17: lengths are read off token values."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-17",
    area="in-batch",
    suffered="real tokens equal to the pad id were cut off the ends of documents",
    source="Megatron-Bridge #2932",
)
class LengthByValue(ReferenceImplementation):
    """A row is taken to end at its last token that is not the pad id, whatever the padding mask says."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        return super().pack_in_batch(replace(batch, padding_mask=None), multiple, pad_id)
