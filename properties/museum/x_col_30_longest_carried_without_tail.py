"""X-COL-30: the max_seqlen that a batch carries is its longest document, whatever the tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-30",
    area="dataset+collate",
    suffered="kernels left the end of the tail out",
    source="own mutation",
)
class LongestCarriedWithoutTail(ReferenceImplementation):
    """The max_seqlen that a batch carries is its longest document, whatever the tail."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return tuple(_of_documents(batch) for batch in super().collate(rows, indices, spec))


def _of_documents(batch: ThdBatch) -> ThdBatch:
    longest = np.diff(batch.layout.valid).max(initial=0)
    return replace(batch, raw={**batch.raw, "max_seqlen": np.array(longest, dtype=np.int32)})
