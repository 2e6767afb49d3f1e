"""X-CPX-9: the second chunk is 2W - 2 - r."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import position_of, segment_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-9",
    area="CP slicing",
    suffered="one chunk was trained twice and the last one never",
    source="own mutation",
)
class SecondChunkOffByOne(ReferenceImplementation):
    """The second chunk of a rank is one too early, except for the last rank."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        slots = super().partition(layout, world, rank)
        if rank == world - 1:
            return slots
        lengths = slots_per_segment(layout)[segment_of(layout)[slots]]
        late = 2 * position_of(layout)[slots] >= lengths
        return slots - late * lengths // (2 * world)
