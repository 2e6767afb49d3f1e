"""X-CPX-8: whole documents are dealt to ranks."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import segment_of
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-8",
    area="CP slicing",
    suffered="ranks held different numbers of tokens and hung",
    source="own mutation",
)
class DocumentsDealt(ReferenceImplementation):
    """Segment i belongs to rank i modulo W, whole."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        whole = super().partition(layout, world, rank)
        if world == 1:
            return whole
        return np.flatnonzero(segment_of(layout) % world == rank)
