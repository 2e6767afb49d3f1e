"""X-COL-20: boundary arrays are int64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-20",
    area="metadata",
    suffered="kernels refused the boundaries",
    source="own mutation",
)
class BoundariesOf64Bits(ReferenceImplementation):
    """Boundary arrays are int64."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        wide = [{name: array.astype(np.int64) for name, array in batch.raw.items()} for batch in batches]
        return tuple(replace(batch, raw=raw) for batch, raw in zip(batches, wide, strict=True))
