"""AM-03: a mask that numbers documents is taken for one of true and false."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "AM-03",
    area="metadata (HF)",
    suffered="all documents of a pack were one span, and attended to each other",
    source="NeMo Automodel #2996",
)
class IndexedMaskCoerced(ReferenceImplementation):
    """A mask that numbers documents is taken for one of true and false, so that all documents have one number."""

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return np.minimum(super().sequence_index(layout, total), 1)
