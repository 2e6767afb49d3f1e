"""X-THD-2: keys have slot boundaries, queries valid ones."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-THD-2",
    area="THD params",
    suffered="queries attended to the keys of other documents",
    source="own mutation",
)
class KeysBySlots(ReferenceImplementation):
    """Keys get slot boundaries where queries get valid ones."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if params.cu_seqlens_kv_padded is None:
            return params
        return replace(params, cu_seqlens_kv=params.cu_seqlens_kv_padded)
