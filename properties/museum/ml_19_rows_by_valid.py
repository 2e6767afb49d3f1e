"""ML-19-rows: rows follow valid boundaries."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import owned_slots, total_slots, valid_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import RotaryMode
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-19-rows",
    area="position ids and RoPE",
    suffered="from the second padded document on, tokens were rotated to the place of others",
    source="Megatron-LM MR !3467, TransformerEngine #2077",
)
class RowsByValid(ReferenceImplementation):
    """Rows are worked out from valid boundaries, though the stream is laid out by slots."""

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        rows = super().rotary_rows(layout, world, rank, mode)
        if mode == RotaryMode.STREAM:
            return rows
        positions: list[IntArray] = [np.arange(int(valid)) for valid in valid_per_segment(layout)]
        rest = np.zeros(total_slots(layout), dtype=np.int64)
        return np.concatenate([*positions, rest])[owned_slots(layout, world, rank)]
