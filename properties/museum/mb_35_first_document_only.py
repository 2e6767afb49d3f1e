"""MB-35: only the first document has positions."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import segment_of
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-35",
    area="position ids+RoPE",
    suffered="all documents but the first had one position for all tokens",
    source="Megatron-Bridge #4532",
)
class FirstDocumentOnly(ReferenceImplementation):
    """Document i is looked for in row i of a batch that has one row, so that all but the first keep a fill value."""

    def position_ids(self, layout: Layout) -> IntArray:
        return np.where(segment_of(layout) == 0, super().position_ids(layout), 1)
