"""X-VLM-8: the step hands over boundaries of 64 bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-8",
    area="in-batch",
    suffered="the kernel read every boundary as two numbers",
    source="own mutation",
)
class BoundariesOf64Bits(ReferenceImplementation):
    """The step hands over boundaries of 64 bits."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        packed = super().vlm_step(batch, parallelism)
        return replace(packed, raw={**packed.raw, "cu_seqlens": packed.layout.padded.astype(np.int64)})
