"""X-IDX-2: the tail has the index of the last segment."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-IDX-2",
    area="mamba seq_idx",
    suffered="padding behind the last document changed its final state",
    source="own mutation",
)
class TailJoinsTheLast(ReferenceImplementation):
    """Slots behind the last boundary have the index of the last segment."""

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return np.minimum(super().sequence_index(layout, total), max(layout.padded.size - 2, 0))
