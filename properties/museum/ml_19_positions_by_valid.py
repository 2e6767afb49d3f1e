"""ML-19: positions restart at valid boundaries."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import position_of, total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-19",
    area="position ids+RoPE (MLA)",
    suffered="from the second document on, tokens were rotated by the wrong angle",
    source="Megatron-LM !3467",
)
class PositionsByValid(ReferenceImplementation):
    """Positions restart at valid boundaries, in a buffer that is laid out by slots."""

    def position_ids(self, layout: Layout) -> IntArray:
        compact = position_of(Layout(layout.valid, layout.valid))
        return np.append(compact, np.zeros(total_slots(layout) - compact.size, dtype=np.int64))
