"""X-CPX-3: the late chunk comes first."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import position_of, segment_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-3",
    area="CP slicing",
    suffered="attention took early tokens for late ones",
    source="own mutation",
)
class LateChunkFirst(ReferenceImplementation):
    """Of its two chunks of the stream, a rank holds the late ones first."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        slots = super().partition(layout, world, rank)
        if world == 1:
            return slots
        late = 2 * position_of(layout)[slots] >= slots_per_segment(layout)[segment_of(layout)[slots]]
        return np.concatenate([slots[late], slots[~late]])
