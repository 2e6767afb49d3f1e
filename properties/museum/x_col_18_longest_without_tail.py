"""X-COL-18: max_seqlen is the longest document, whatever the tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-18",
    area="metadata",
    suffered="kernels left the end of the tail out",
    source="own mutation",
)
class LongestWithoutTail(ReferenceImplementation):
    """max_seqlen is the longest document, whatever the tail."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, max_seqlen=int(np.diff(batch.layout.valid).max())) for batch in batches)
