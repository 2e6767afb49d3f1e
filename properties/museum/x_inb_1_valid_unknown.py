"""X-INB-1: valid lengths are not kept."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import Layout, PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-1",
    area="in-batch",
    suffered="padding was attended to and counted as tokens",
    source="Megatron-Bridge to 0.5.1, training/vlm_step.py (cu_seqlens are padded only)",
)
class ValidUnknown(ReferenceImplementation):
    """Only slot boundaries are kept, so that alignment padding looks like tokens."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, layout=Layout(packed.layout.padded, packed.layout.padded))
