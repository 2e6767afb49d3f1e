"""MB-17-multiple: the multiple ignores sequence parallelism."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-17-multiple",
    area="in-batch",
    suffered="sequence parallelism could not scatter packs",
    source="Megatron-Bridge #2932",
)
class MultipleWithoutSequenceParallel(ReferenceImplementation):
    """Segments are padded for context parallelism only, also where sequence parallelism cuts them further."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        return super().vlm_step(batch, replace(parallelism, sequence_parallel=False))
