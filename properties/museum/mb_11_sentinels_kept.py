"""MB-11: sentinels reach the kernel."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-11",
    area="CP slicing / metadata",
    suffered="the index kernel met a boundary of -1 and stopped, or cut documents wrongly",
    source="Megatron-Bridge #4489",
)
class SentinelsKept(ReferenceImplementation):
    """Boundaries are handed on as the batch carries them, sentinels included."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        carried = metadata.cu_seqlens.reshape(-1)
        if params.cu_seqlens_q_padded is None:
            return replace(params, cu_seqlens_q=carried, cu_seqlens_kv=carried)
        return replace(params, cu_seqlens_q_padded=carried, cu_seqlens_kv_padded=carried)
