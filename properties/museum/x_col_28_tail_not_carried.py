"""X-COL-28: the boundaries that a batch carries end with the last document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-28",
    area="dataset+collate",
    suffered="the slots behind the last document belonged to no segment of the kernel",
    source="own mutation",
)
class TailNotCarried(ReferenceImplementation):
    """The boundaries that a batch carries end with the last document."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return tuple(_without_tail(batch) for batch in super().collate(rows, indices, spec))


def _without_tail(batch: ThdBatch) -> ThdBatch:
    documents = batch.layout.padded[batch.layout.padded < len(batch.tokens)]
    return replace(batch, raw={**batch.raw, "cu_seqlens": documents.astype(np.int32)})
