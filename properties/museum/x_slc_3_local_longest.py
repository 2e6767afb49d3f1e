"""X-SLC-3: the longest segment is divided by W."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SLC-3",
    area="CP slicing",
    suffered="rotary tables were too short",
    source="own mutation",
)
class LocalLongest(ReferenceImplementation):
    """The longest segment is divided by the number of ranks."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        return replace(super().slice_batch(batch, world, rank), max_seqlen=batch.max_seqlen // world)
