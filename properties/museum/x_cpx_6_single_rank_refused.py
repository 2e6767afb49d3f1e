"""X-CPX-6: a single rank asks for even lengths."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-6",
    area="CP slicing",
    suffered="runs without context parallelism refused documents of odd length",
    source="own mutation",
)
class SingleRankRefused(ReferenceImplementation):
    """Segments must be divisible by 2W also where a single rank has nothing to cut."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        if np.any(slots_per_segment(layout) % (2 * world)):
            raise PackingError("layout.padded", layout.padded.tolist(), f"must be divisible by {2 * world}")
        return super().partition(layout, world, rank)
