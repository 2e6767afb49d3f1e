"""X-COL-14: boundaries of slots leave padding out, so that all documents but the first begin too early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-14",
    area="metadata",
    suffered="context parallelism cut documents at wrong places",
    source="own mutation",
)
class BordersWithoutPadding(ReferenceImplementation):
    """Boundaries of slots leave padding out, so that all documents but the first begin too early."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, layout=_unpadded(batch.layout)) for batch in batches)


def _unpadded(layout: Layout) -> Layout:
    return Layout(layout.valid, np.append(layout.valid[:-1], layout.padded[-1]))
