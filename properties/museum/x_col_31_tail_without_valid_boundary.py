"""X-COL-31: the tail has a boundary of slots and none of valid lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-31",
    area="dataset+collate",
    suffered="the kernel read the valid length of the tail behind the end of its array",
    source="own mutation",
)
class TailWithoutValidBoundary(ReferenceImplementation):
    """The tail has a boundary of slots and none of valid lengths."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return tuple(_merged(batch) for batch in super().collate(rows, indices, spec))


def _merged(batch: ThdBatch) -> ThdBatch:
    return replace(batch, layout=Layout(valid=np.unique(batch.layout.valid), padded=batch.layout.padded))
