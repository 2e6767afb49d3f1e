"""ML-30: slot boundaries in the place of valid ones."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-30",
    area="THD params",
    suffered="padding was attended to as if it were tokens",
    source="Megatron-LM #4103 (thd-and-context-parallel B31)",
)
class PaddedAsValid(ReferenceImplementation):
    """Where segments are padded, slot boundaries stand in the place of the valid ones."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if params.cu_seqlens_q_padded is None or params.cu_seqlens_kv_padded is None:
            return params
        return replace(params, cu_seqlens_q=params.cu_seqlens_q_padded, cu_seqlens_kv=params.cu_seqlens_kv_padded)
