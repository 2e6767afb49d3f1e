"""X-VLM-5: the step's valid boundaries are those of the slots."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-VLM-5",
    area="in-batch",
    suffered="padding was attended to",
    source="own mutation",
)
class ValidLengthsUnknown(ReferenceImplementation):
    """The step's valid boundaries are those of the slots."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        packed = super().vlm_step(batch, parallelism)
        padded = packed.layout.padded
        return replace(packed, layout=Layout(valid=padded, padded=padded))
