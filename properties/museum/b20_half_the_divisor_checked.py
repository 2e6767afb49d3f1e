"""B20: divisibility by W is taken to be enough."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import layout_of, slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.reference import ReferenceImplementation


@bug(
    "B20",
    area="CP slicing",
    suffered="segments that CP divides and 2 * CP does not gave wild indices",
    source="Megatron-Core gated delta net, _build_thd_cp_a2a_perm",
)
class HalfTheDivisorChecked(ReferenceImplementation):
    """Segments are checked for divisibility by W, and chunks are then rounded down."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        if world == 1:
            return super().partition(layout, world, rank)
        if np.any(slots_per_segment(layout) % world):
            raise PackingError("layout.padded", layout.padded.tolist(), f"must be divisible by {world}")
        chunks = slots_per_segment(layout) // (2 * world) * (2 * world)
        return super().partition(layout_of([int(slots) for slots in chunks]), world, rank)
