"""X-INB-11: rows keep their padding."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-11",
    area="in-batch",
    suffered="memory was spent on the padding that packing removes",
    source="own mutation",
)
class WidthKept(ReferenceImplementation):
    """Every row keeps the width of the batch, padding included, as its segment."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        width = batch.tokens.shape[1]
        return super().pack_in_batch(batch, -(-width // multiple) * multiple, pad_id)
