"""X-VLM-1: segments are padded to CP, not 2 * CP."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-1",
    area="in-batch",
    suffered="context parallelism could not cut segments into two chunks per rank",
    source="own mutation",
)
class HalfTheMultiple(ReferenceImplementation):
    """Segments are padded to a multiple of the context-parallel size, not of twice that."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        return self.pack_in_batch(batch, parallelism.context, 0)
