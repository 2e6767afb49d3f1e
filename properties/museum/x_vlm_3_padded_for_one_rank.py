"""X-VLM-3: a single rank pads to 2."""

from __future__ import annotations

import math

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.in_batch import padding_multiple
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-3",
    area="in-batch",
    suffered="runs without context parallelism padded every document of odd length",
    source="own mutation",
)
class PaddedForOneRank(ReferenceImplementation):
    """Segments are padded to 2 * CP also where there is a single rank and nothing to cut."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        return self.pack_in_batch(batch, math.lcm(2 * parallelism.context, padding_multiple(parallelism)), 0)
