"""X-SLC-4: tokens that look like padding are stripped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SLC-4",
    area="CP slicing",
    suffered="ranks held different numbers of tokens and hung",
    source="own mutation",
)
class PaddingByValue(ReferenceImplementation):
    """Trailing tokens 0 of the local part are taken for padding and stripped."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        part = super().slice_batch(batch, world, rank)
        return replace(part, tokens=np.trim_zeros(part.tokens, "b"))
