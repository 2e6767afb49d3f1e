"""X-SLC-1: labels are shifted after the cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SLC-1",
    area="CP slicing",
    suffered="at the end of each chunk, tokens were trained to predict one from far away",
    source="own mutation",
)
class LabelsShiftedAfter(ReferenceImplementation):
    """Labels are the next tokens of the local part, not of the stream."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        part = super().slice_batch(batch, world, rank)
        return replace(part, labels=None if part.labels is None else np.roll(part.tokens, -1))
