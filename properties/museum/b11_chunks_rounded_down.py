"""B11: chunks are rounded down."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import layout_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "B11",
    area="CP slicing",
    suffered="tokens were dropped without a word",
    source="TransformerEngine, get_batch_on_this_cp_rank",
)
class ChunksRoundedDown(ReferenceImplementation):
    """A segment that does not have 2W equal chunks loses what is left over."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        if world == 1:
            return super().partition(layout, world, rank)
        chunks = slots_per_segment(layout) // (2 * world) * (2 * world)
        kept = layout_of([int(slots) for slots in chunks])
        shift = np.repeat(layout.padded[:-1] - kept.padded[:-1], chunks // world)
        return super().partition(kept, world, rank) + shift
