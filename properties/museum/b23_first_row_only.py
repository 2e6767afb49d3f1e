"""B23: only the boundaries of the first row are read."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "B23",
    area="metadata (MBS>1)",
    suffered="documents of all rows but the first were cut at the borders of the first",
    source="Megatron-LM 0.18.2, get_sft_batch_on_this_cp_rank",
)
class FirstRowOnly(ReferenceImplementation):
    """Of the boundaries of several rows, only those of the first are read."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        if metadata.cu_seqlens.ndim == 2:
            metadata = replace(metadata, cu_seqlens=metadata.cu_seqlens[0])
        return super().sequence_params(metadata)
