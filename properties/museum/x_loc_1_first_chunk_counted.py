"""X-LOC-1: only the first chunk is counted."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import cumulative, slots_per_segment, valid_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOC-1",
    area="THD params / CP",
    suffered="keys of the late half of each document were attended to by no rank",
    source="own mutation",
)
class FirstChunkCounted(ReferenceImplementation):
    """Only valid tokens in the first chunk of a rank are counted."""

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        super().local_boundaries(layout, world, rank)
        chunk = slots_per_segment(layout) // (2 * world)
        return cumulative(np.clip(valid_per_segment(layout) - rank * chunk, 0, chunk))
