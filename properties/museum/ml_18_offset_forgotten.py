"""ML-18: rows of a stream's table restart."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-18",
    area="position ids and RoPE",
    suffered="every document was rotated with the first rows of a table of the whole stream",
    source="Megatron-LM MR !3978, #5243",
)
class OffsetForgotten(ReferenceImplementation):
    """Tables of the whole stream are read like tables of positions."""

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        return super().rotary_rows(layout, world, rank, RotaryMode.RESTART)
