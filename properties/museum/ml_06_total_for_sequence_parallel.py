"""ML-06: only the total is rounded for sequence parallelism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-06",
    area="padding / SP",
    suffered="a tensor was longer than its last boundary said",
    source="Megatron-LM #2574",
)
class TotalForSequenceParallel(ReferenceImplementation):
    """For sequence parallelism only the whole stream is rounded up, behind the last boundary."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        packed = super().vlm_step(batch, replace(parallelism, sequence_parallel=False))
        if not parallelism.sequence_parallel:
            return packed
        more = -packed.tokens.size % (parallelism.context * parallelism.tensor)
        return replace(packed, tokens=np.append(packed.tokens, [0] * more).astype(np.int64))
