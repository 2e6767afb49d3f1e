"""X-VLM-2: segments are padded to 2 * CP * TP."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-2",
    area="in-batch",
    suffered="segments had up to twice the padding that they need",
    source="Megatron-Bridge documentation (bridge-packing S47)",
)
class ProductOfSizes(ReferenceImplementation):
    """With sequence parallelism, segments are padded to 2 * CP * TP, not to the least common multiple."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        if not parallelism.sequence_parallel:
            return super().vlm_step(batch, parallelism)
        return self.pack_in_batch(batch, 2 * parallelism.context * parallelism.tensor, 0)
