"""X-COL-1: the whole row is shifted by one, so that the last token of a document is an input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-1",
    area="dataset+collate",
    suffered="documents were shifted by one slot against their borders",
    source="own mutation",
)
class LastTokenAsInput(ReferenceImplementation):
    """The whole row is shifted by one, so that the last token of a document is an input."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, tokens=np.roll(batch.tokens, 1)) for batch in batches)
