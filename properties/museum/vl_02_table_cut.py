"""VL-02: the rotary table is cut to the local length."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation


@bug(
    "VL-02",
    area="position ids and RoPE",
    suffered="context-parallel runs failed, or rotated the second half of every document wrongly",
    source="verl #4611",
)
class TableCut(ReferenceImplementation):
    """The table is cut to the longest part of a document that a rank owns."""

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        rows = super().rotary_rows(layout, world, rank, mode)
        local = int(slots_per_segment(layout).max(initial=world)) // world
        return np.minimum(rows, local - 1) if mode == RotaryMode.RESTART else rows
