"""TT-01: labels are shifted over the whole row, so that they cross the borders of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "TT-01",
    area="loss mask / labels",
    suffered="the last slot of each document was trained to predict the first token of the next one",
    source="torchtune #2613",
)
class LabelsShiftedAfterPacking(ReferenceImplementation):
    """Labels are shifted over the whole row, so that they cross the borders of documents."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, labels=np.append(batch.tokens[1:], spec.eos_id)) for batch in batches)
