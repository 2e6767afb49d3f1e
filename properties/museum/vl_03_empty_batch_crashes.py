"""VL-03: an empty pack has no longest segment."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import row_lengths
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "VL-03",
    area="in-batch",
    suffered="a micro batch without a real token ended the run",
    source="verl #4165",
)
class EmptyBatchCrashes(ReferenceImplementation):
    """The longest of no segments is asked for."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        longest = max(row_lengths(batch, pad_id))
        slots = -(-int(longest) // multiple) * multiple
        return replace(super().pack_in_batch(batch, multiple, pad_id), max_seqlen=slots)
