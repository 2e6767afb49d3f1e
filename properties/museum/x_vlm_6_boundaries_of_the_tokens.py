"""X-VLM-6: the step hands over boundaries of the real tokens as those of the slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-6",
    area="in-batch",
    suffered="the kernel cut the stream in other places than the documents end",
    source="own mutation",
)
class BoundariesOfTheTokens(ReferenceImplementation):
    """The step hands over boundaries of the real tokens as those of the slots."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        packed = super().vlm_step(batch, parallelism)
        return replace(packed, raw={**packed.raw, "cu_seqlens": packed.layout.valid.astype(np.int32)})
