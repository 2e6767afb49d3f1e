"""X-MTP-1: chunks are shifted alone."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import owned_slots, position_of, segment_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import Borders
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MTP-1",
    area="MTP",
    suffered="targets at the end of every chunk were lost",
    source="own mutation",
)
class ChunksShiftedAlone(ReferenceImplementation):
    """Ranks exchange nothing: the last slot of every chunk has no successor."""

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        rolled = super().roll(values, layout, world, depth, borders)
        if world == 1:
            return rolled
        chunk = (slots_per_segment(layout) // (2 * world))[segment_of(layout)]
        last = position_of(layout) % chunk >= chunk - depth
        return tuple(np.where(last[owned_slots(layout, world, rank)], 0, part) for rank, part in enumerate(rolled))
