"""TR-02: a mask of ones makes one segment."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import layout_of
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "TR-02",
    area="metadata (HF)",
    suffered="documents of a pack attended to each other",
    source="TRL #4170, #3942, #3526",
)
class OneSegment(ReferenceImplementation):
    """Boundaries are derived from a mask of ones over the whole stream, which makes it a single segment."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, layout=layout_of([packed.tokens.size]), max_seqlen=packed.tokens.size)
