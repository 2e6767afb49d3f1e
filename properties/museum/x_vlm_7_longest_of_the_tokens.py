"""X-VLM-7: the step hands over the longest segment without its padding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-7",
    area="in-batch",
    suffered="the kernel skipped the padded end of the longest document",
    source="own mutation",
)
class LongestOfTheTokens(ReferenceImplementation):
    """The step hands over the longest segment without its padding."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        packed = super().vlm_step(batch, parallelism)
        longest = np.diff(packed.layout.valid).max(initial=0)
        return replace(packed, raw={**packed.raw, "max_seqlen": np.array(longest, dtype=np.int32)})
