"""X-COL-6: the stored mask is shifted once more."""

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
    "X-COL-6",
    area="loss mask",
    suffered="the model trained on other targets than the mask said",
    source="own mutation",
)
class MaskOfTheNextSlot(ReferenceImplementation):
    """The stored mask is shifted once more."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, loss_mask=np.roll(weights_of(batch), -1)) for batch in batches)
