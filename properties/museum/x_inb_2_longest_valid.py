"""X-INB-2: the longest segment is measured in real tokens."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import valid_per_segment
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-2",
    area="in-batch",
    suffered="rotary tables were shorter than the longest segment",
    source="own mutation",
)
class LongestRealRow(ReferenceImplementation):
    """The longest segment is the most real tokens of a row, without its padding."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, max_seqlen=int(valid_per_segment(packed.layout).max(initial=0)))
