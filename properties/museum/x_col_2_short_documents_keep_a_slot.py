"""X-COL-2: a document of a single token takes a slot of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-2",
    area="dataset+collate",
    suffered="borders of documents no longer belonged to their tokens",
    source="own mutation",
)
class ShortDocumentsKeepASlot(ReferenceImplementation):
    """A document of a single token takes a slot of its own."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(_with_slot(batch) for batch in batches)


def _with_slot(batch: ThdBatch) -> ThdBatch:
    empty = batch.layout.padded[:-1][np.diff(batch.layout.padded) == 0]
    if not len(empty):
        return batch
    return replace(batch, tokens=np.insert(batch.tokens, empty, 0)[: len(batch.tokens)])
