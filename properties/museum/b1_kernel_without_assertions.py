"""B1: undivisible segments are cut anyway."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "B1",
    area="CP slicing",
    suffered="tokens were lost and others trained twice, without a word",
    source="TransformerEngine, thd_get_partitioned_indices",
)
class KernelWithoutAssertions(ReferenceImplementation):
    """Local boundaries are rounded down, and the search over them gives some index for whatever comes in."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        starts = layout.padded // world
        local = np.arange(total_slots(layout) // world)
        segment = np.clip(np.searchsorted(starts, local, side="right") - 1, 0, max(starts.size - 2, 0))
        half = np.diff(starts, append=starts[-1])[segment] // 2
        offset = local - starts[segment]
        return offset + starts[segment] * world + half * np.where(offset < half, rank, 2 * (world - 1) - rank)
