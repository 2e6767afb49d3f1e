"""X-IDX-1: the index follows valid boundaries."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-IDX-1",
    area="mamba seq_idx",
    suffered="recurrent state was reset inside documents",
    source="own mutation",
)
class IndexByValid(ReferenceImplementation):
    """The index changes at valid boundaries, in a buffer that is laid out by slots."""

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        super().sequence_index(layout, total)
        return np.searchsorted(layout.valid, np.arange(total), side="right") - 1
