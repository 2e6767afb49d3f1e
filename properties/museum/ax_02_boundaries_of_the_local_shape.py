"""AX-02: boundaries are those of the local shape."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import layout_of, total_slots
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "AX-02",
    area="metadata / CP",
    suffered="documents were cut at the local length, and their own borders were ignored",
    source="axolotl #2495",
)
class BoundariesOfTheLocalShape(ReferenceImplementation):
    """Boundaries are multiples of the local length, whatever documents there are."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        local = total_slots(batch.layout) // world
        return replace(super().slice_batch(batch, world, rank), layout=layout_of([local] * world))
