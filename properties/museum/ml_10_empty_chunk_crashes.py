"""ML-10: the first element of an empty chunk is read."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-10",
    area="CP slicing",
    suffered="documents without tokens, and the filler of static shapes, ended the run",
    source="Megatron-LM #3035",
)
class EmptyChunkCrashes(ReferenceImplementation):
    """The first slot of each chunk is read, also where a chunk has none."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        slots = super().partition(layout, world, rank)
        if not slots_per_segment(layout).all():
            raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
        return slots
