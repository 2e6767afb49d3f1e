"""X-COL-3: real tokens are moved together, padding to the end, while borders stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-3",
    area="dataset+collate",
    suffered="tokens stood at other slots than their borders said",
    source="own mutation",
)
class PaddingCompacted(ReferenceImplementation):
    """Real tokens are moved together, padding to the end, while borders stay."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(_compacted(batch) for batch in batches)


def _compacted(batch: ThdBatch) -> ThdBatch:
    lengths, valid = np.diff(batch.layout.padded), np.diff(batch.layout.valid)
    inside = np.arange(len(batch.tokens)) - np.repeat(batch.layout.padded[:-1], lengths)
    order = np.argsort(inside >= np.repeat(valid, lengths), kind="stable")
    return replace(batch, tokens=batch.tokens[order])
