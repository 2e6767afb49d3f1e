"""X-LOC-2: valid tokens are shared out in proportion."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import cumulative, slots_per_segment, valid_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOC-2",
    area="THD params / CP",
    suffered="a document without tokens ended the run",
    source="own mutation",
)
class ShareOfTheValid(ReferenceImplementation):
    """Each rank gets its slots times the valid part of a segment, which divides by zero where there is no slot."""

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        super().local_boundaries(layout, world, rank)
        sizes = zip(slots_per_segment(layout).tolist(), valid_per_segment(layout).tolist(), strict=True)
        return cumulative([slots // world * valid // slots for slots, valid in sizes])
