"""X-CPX-2: ranks own chunks r and r + W."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import position_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-2",
    area="CP slicing",
    suffered="later ranks did more work, and attention read the wrong tokens",
    source="own mutation",
)
class StripedChunks(ReferenceImplementation):
    """Rank r owns chunks r and r + W of every segment."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        whole = super().partition(layout, world, rank)
        if world == 1:
            return whole
        chunk = np.repeat(slots_per_segment(layout) // (2 * world), slots_per_segment(layout))
        return np.flatnonzero(position_of(layout) // np.maximum(chunk, 1) % world == rank)
