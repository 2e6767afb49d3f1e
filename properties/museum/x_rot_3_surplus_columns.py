"""X-ROT-3: surplus columns are dropped."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROT-3",
    area="position ids and RoPE",
    suffered="positions of another stream were used without a word",
    source="own mutation",
)
class SurplusColumns(ReferenceImplementation):
    """Columns behind the last slot are dropped."""

    def rotary_axes(self, positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
        return super().rotary_axes(positions[:, : layout.padded[-1]], layout, world, rank)
