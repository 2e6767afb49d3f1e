"""MB-02: the pack is cut as one long document."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import layout_of, owned_slots, total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-02",
    area="CP slicing",
    suffered="embeddings, labels and masks disagreed with what attention assumed",
    source="Megatron-Bridge #5463",
)
class StreamZigzag(ReferenceImplementation):
    """The stream is cut into 2W chunks as if it were one document."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        whole = super().partition(layout, world, rank)
        if world == 1:
            return whole
        return owned_slots(layout_of([total_slots(layout)]), world, rank)
