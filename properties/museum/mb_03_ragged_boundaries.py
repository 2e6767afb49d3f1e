"""MB-03: boundaries of all rows of a batch are put into one array, without filling up the shorter ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-03",
    area="dataset+collate / metadata",
    suffered="a global batch whose rows held different numbers of documents could not be built",
    source="Megatron-Bridge #5400",
)
class RaggedBoundaries(ReferenceImplementation):
    """Boundaries of all rows of a batch are put into one array, without filling up the shorter ones."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        np.asarray([row.starts for row in rows])
        return super().collate(rows, indices, spec)
