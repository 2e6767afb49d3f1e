"""LF-01: an indexed mask is summed."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import segment_of
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "LF-01",
    area="position ids+RoPE",
    suffered="in later documents, neighbours were two or more positions apart",
    source="LLaMA-Factory #7318, #7754",
)
class IndexedMaskSummed(ReferenceImplementation):
    """The mask that numbers documents from 1 is summed as if it held ones."""

    def position_ids(self, layout: Layout) -> IntArray:
        return np.cumsum(segment_of(layout) + 1) - 1
