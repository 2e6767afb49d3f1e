"""X-VLM-4: rows are cut down to a multiple."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import real_tokens
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.in_batch import padding_multiple
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-4",
    area="in-batch",
    suffered="documents lost their end under context parallelism",
    source="own mutation",
)
class RowsCutDown(ReferenceImplementation):
    """Rows are cut down to the last multiple instead of being padded up to the next one."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        real = real_tokens(batch, 0)
        kept = real.sum(axis=1, keepdims=True) // padding_multiple(parallelism) * padding_multiple(parallelism)
        mask = real & (np.cumsum(real, axis=1) <= kept)
        return super().vlm_step(replace(batch, padding_mask=mask), parallelism)
