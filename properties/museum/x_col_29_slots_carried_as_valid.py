"""X-COL-29: the valid lengths that a batch carries are its slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-29",
    area="dataset+collate",
    suffered="padding was attended to",
    source="own mutation",
)
class SlotsCarriedAsValid(ReferenceImplementation):
    """The valid lengths that a batch carries are its slots."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return tuple(_with_slots(batch) for batch in super().collate(rows, indices, spec))


def _with_slots(batch: ThdBatch) -> ThdBatch:
    if "cu_seqlens_unpadded" not in batch.raw:
        return batch
    return replace(batch, raw={**batch.raw, "cu_seqlens_unpadded": batch.layout.padded.astype(np.int32)})
