"""X-COL-13: boundaries that are equal become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-13",
    area="metadata",
    suffered="borders of documents no longer belonged to their positions",
    source="own mutation",
)
class EqualBordersMerged(ReferenceImplementation):
    """Boundaries that are equal become one."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, layout=_merged(batch.layout)) for batch in batches)


def _merged(layout: Layout) -> Layout:
    kept = np.append(np.True_, np.diff(layout.padded) > 0)
    return Layout(layout.valid[kept], layout.padded[kept])
