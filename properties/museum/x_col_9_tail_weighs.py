"""X-COL-9: slots behind the last document weigh 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from properties.museum.bug import bug
from properties.readings import weights_of
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-9",
    area="loss mask",
    suffered="padding at the end of rows was trained on",
    source="own mutation",
)
class TailWeighs(ReferenceImplementation):
    """Slots behind the last document weigh 1."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, loss_mask=_with_tail(batch)) for batch in batches)


def _with_tail(batch: ThdBatch) -> NDArray[np.float64]:
    has_tail = len(batch.layout.valid) > 1 and batch.layout.valid[-1] == batch.layout.valid[-2]
    start = int(batch.layout.padded[-2]) if has_tail else len(batch.tokens)
    return np.where(np.arange(len(batch.tokens)) >= start, 1.0, weights_of(batch))
