"""X-CPX-4: chunks are measured in valid tokens."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import valid_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-4",
    area="CP slicing",
    suffered="tokens went to other ranks than attention expected",
    source="own mutation",
)
class CutByValid(ReferenceImplementation):
    """Chunks are measured in valid tokens where these divide, and in slots elsewhere."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        slots = super().partition(layout, world, rank)
        if world == 1 or not layout.valid[-1] or np.any(valid_per_segment(layout) % (2 * world)):
            return slots
        return super().partition(Layout(layout.valid, layout.valid), world, rank)
