"""B15: rows behind the table are its last row."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation


@bug(
    "B15",
    area="position ids and RoPE",
    suffered="documents behind the end of the table were all rotated alike",
    source="Megatron-LM, read in its code",
)
class RowsClamped(ReferenceImplementation):
    """A table of positions is taken for one of the stream, and rows behind its end are its last row."""

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        rows = super().rotary_rows(layout, world, rank, RotaryMode.STREAM)
        last = int(slots_per_segment(layout).max(initial=1)) - 1
        return rows if mode == RotaryMode.STREAM else np.minimum(rows, last)
