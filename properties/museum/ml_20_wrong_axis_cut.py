"""ML-20: the wrong axis is cut."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-20",
    area="position ids and RoPE",
    suffered="multi-axis models failed with context parallelism, or used a part of the batch",
    source="Megatron-LM MR !3603",
)
class WrongAxisCut(ReferenceImplementation):
    """Multi-axis positions are cut on their first axis."""

    def rotary_axes(self, positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
        super().rotary_axes(positions, layout, world, rank)
        return positions[rank :: max(world, 1)]
