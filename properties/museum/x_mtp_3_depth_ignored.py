"""X-MTP-3: the depth is ignored."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import Borders
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MTP-3",
    area="MTP",
    suffered="all prediction heads learned the same target",
    source="own mutation",
)
class DepthIgnored(ReferenceImplementation):
    """Values are shifted by one at every depth."""

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        return super().roll(values, layout, world, min(depth, 1), borders)
