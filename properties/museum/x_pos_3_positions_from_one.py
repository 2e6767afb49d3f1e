"""X-POS-3: positions start at 1."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-POS-3",
    area="position ids",
    suffered="every token was rotated one step too far",
    source="own mutation",
)
class PositionsFromOne(ReferenceImplementation):
    """Positions start at 1."""

    def position_ids(self, layout: Layout) -> IntArray:
        return super().position_ids(layout) + 1
