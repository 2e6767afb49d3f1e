"""B13: axes are cut as one document."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import layout_of, owned_slots, total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "B13",
    area="position ids and RoPE",
    suffered="packed image documents were rotated with the positions of others",
    source="Megatron-LM, read in its code",
)
class AxesOfTheStream(ReferenceImplementation):
    """Multi-axis positions are cut as if the stream were one document, unlike the tokens."""

    def rotary_axes(self, positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
        cut = super().rotary_axes(positions, layout, world, rank)
        return cut if world == 1 else positions[:, owned_slots(layout_of([total_slots(layout)]), world, rank)]
