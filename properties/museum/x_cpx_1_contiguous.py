"""X-CPX-1: ranks own contiguous parts of segments."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import position_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-1",
    area="CP slicing",
    suffered="the last rank did most of the work, and attention read the wrong tokens",
    source="own mutation",
)
class Contiguous(ReferenceImplementation):
    """Rank r owns the r-th of W contiguous parts of every segment."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        whole = super().partition(layout, world, rank)
        if world == 1:
            return whole
        part = np.repeat(slots_per_segment(layout) // world, slots_per_segment(layout))
        return np.flatnonzero(position_of(layout) // np.maximum(part, 1) == rank)
