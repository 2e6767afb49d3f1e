"""B16: odd parts are rotated."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import layout_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation


@bug(
    "B16",
    area="position ids and RoPE",
    suffered="some rows were read twice and others never",
    source="Megatron-LM, read in its code",
)
class OddPartsRotated(ReferenceImplementation):
    """An odd number of slots on a rank is rounded down to two equal chunks."""

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        multiple = 2 * world if world > 1 else 1
        rounded = layout_of([int(slots) // multiple * multiple for slots in slots_per_segment(layout)])
        return super().rotary_rows(rounded, world, rank, mode)
