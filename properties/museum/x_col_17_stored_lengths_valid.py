"""X-COL-17: valid lengths count stored tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-17",
    area="metadata",
    suffered="attention read one slot beyond the end of every document",
    source="own mutation",
)
class StoredLengthsValid(ReferenceImplementation):
    """Valid lengths count stored tokens."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, layout=_longer(batch.layout)) for batch in batches)


def _longer(layout: Layout) -> Layout:
    return Layout(layout.valid + np.arange(len(layout.valid)), layout.padded)
