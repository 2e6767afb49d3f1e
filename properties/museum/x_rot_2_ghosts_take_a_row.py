"""X-ROT-2: segments of no slot take a row."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROT-2",
    area="position ids and RoPE",
    suffered="filler of static shapes shifted the rotations of real documents",
    source="own mutation",
)
class GhostsTakeARow(ReferenceImplementation):
    """Every segment of no slot takes a row of the table."""

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        ghosts = int((slots_per_segment(layout) == 0).sum())
        return super().rotary_rows(layout, world, rank, mode) + ghosts
