"""X-ROT-1: positions are those of a rank's part."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import layout_of, position_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROT-1",
    area="position ids and RoPE",
    suffered="attention saw tokens of other ranks at wrong distances",
    source="own mutation",
)
class RowsOfThePart(ReferenceImplementation):
    """Positions are counted inside a rank's part of a segment."""

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        rows = super().rotary_rows(layout, world, rank, mode)
        part = layout_of([int(slots) // world for slots in slots_per_segment(layout)])
        return position_of(part) if mode == RotaryMode.RESTART else rows
