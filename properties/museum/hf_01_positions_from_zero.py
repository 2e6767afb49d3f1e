"""HF-01: positions are counted anew from 0."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import position_of
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "HF-01",
    area="position ids / metadata",
    suffered="models whose positions do not start at 0 degraded without a word",
    source="transformers #47496",
)
class PositionsFromZero(ReferenceImplementation):
    """Positions are counted anew from 0 instead of being taken from the rows."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, position_ids=position_of(packed.layout))
