"""AM-04: positions are local."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import layout_of, position_of, slots_per_segment
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "AM-04",
    area="position ids+RoPE",
    suffered="under context parallelism, tokens were rotated to the place of another",
    source="NeMo Automodel #2377",
)
class LocalPositions(ReferenceImplementation):
    """Positions are counted inside the local part of each segment."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        local = layout_of([int(slots) // world for slots in slots_per_segment(batch.layout)])
        return replace(super().slice_batch(batch, world, rank), position_ids=position_of(local))
