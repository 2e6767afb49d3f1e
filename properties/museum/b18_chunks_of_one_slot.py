"""B18: chunks of one slot crash."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import Borders
from reference_impl.reference import ReferenceImplementation


@bug(
    "B18",
    area="MTP",
    suffered="documents of one slot per chunk ended the run",
    source="Megatron-LM, read in its code",
)
class ChunksOfOneSlot(ReferenceImplementation):
    """The second slot of every chunk is read, also where it has only one."""

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        if world > 1 and (slots_per_segment(layout) == 2 * world).any():
            raise IndexError("index 1 is out of bounds for dimension 0 with size 1")
        return super().roll(values, layout, world, depth, borders)
