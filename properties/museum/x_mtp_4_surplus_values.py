"""X-MTP-4: surplus values are dropped."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import Borders
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MTP-4",
    area="MTP",
    suffered="values of another stream were used without a word",
    source="own mutation",
)
class SurplusValues(ReferenceImplementation):
    """Values behind the last slot are dropped."""

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        return super().roll(values[: layout.padded[-1]], layout, world, depth, borders)
