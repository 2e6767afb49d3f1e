"""X-COL-5: padding has position 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-5",
    area="position ids",
    suffered="rotary rows of padded documents differed between ranks",
    source="own mutation",
)
class PositionsStopAtPadding(ReferenceImplementation):
    """Padding has position 0."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(_stopped(batch) for batch in batches)


def _stopped(batch: ThdBatch) -> ThdBatch:
    valid = np.repeat(np.diff(batch.layout.valid), np.diff(batch.layout.padded))
    return replace(batch, position_ids=np.where(batch.position_ids < valid, batch.position_ids, 0))
