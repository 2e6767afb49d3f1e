"""X-COL-4: positions count the slots of the whole row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-4",
    area="position ids",
    suffered="rotary embeddings ran on from one document into the next",
    source="own mutation",
)
class PositionsRunOn(ReferenceImplementation):
    """Positions count the slots of the whole row."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, position_ids=np.arange(len(batch.tokens))) for batch in batches)
