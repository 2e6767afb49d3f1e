"""X-COL-27: a slot is trained on only if it is in every row of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.readings import weights_of
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-27",
    area="dataset+collate",
    suffered="rows changed each other's loss",
    source="own mutation",
)
class MaskOfTheBatch(ReferenceImplementation):
    """A slot is trained on only if it is in every row of the batch."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        common = np.min([weights_of(batch) for batch in batches], axis=0)
        return tuple(replace(batch, loss_mask=common) for batch in batches)
