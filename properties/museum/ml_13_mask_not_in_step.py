"""ML-13: padding is a successor."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import Borders
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-13",
    area="MTP",
    suffered="the last token of every document was trained to predict padding",
    source="Megatron-LM #3457",
)
class MaskNotInStep(ReferenceImplementation):
    """Values are shifted at the ends of slots, whatever is asked for."""

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        return super().roll(values, layout, world, depth, Borders.PADDED)
