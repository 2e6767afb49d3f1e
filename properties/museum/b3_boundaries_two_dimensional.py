"""B3: boundaries keep the dimension of the batch."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "B3",
    area="THD params",
    suffered="the index kernel refused boundaries of two dimensions",
    source="Megatron-LM 0.16.1, pretrain_gpt.py",
)
class BoundariesTwoDimensional(ReferenceImplementation):
    """Boundaries keep a leading dimension of the batch."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if metadata.cu_seqlens.ndim == 1:
            return params
        return replace(params, cu_seqlens_q=params.cu_seqlens_q[None, :], cu_seqlens_kv=params.cu_seqlens_kv[None, :])
