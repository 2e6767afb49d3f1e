"""MB-16: padded boundaries are always given."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-16",
    area="THD params",
    suffered="a slower attention kernel ran, although nothing was padded",
    source="Megatron-Bridge #2039",
)
class PaddedAlways(ReferenceImplementation):
    """Padded boundaries are given also where they equal the valid ones."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if params.cu_seqlens_q_padded is not None:
            return params
        return replace(params, cu_seqlens_q_padded=params.cu_seqlens_q, cu_seqlens_kv_padded=params.cu_seqlens_kv)
