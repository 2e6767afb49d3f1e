"""X-THD-4: the segment index is always built."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import true_entries
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-THD-4",
    area="mamba seq_idx",
    suffered="models without recurrent layers paid for a segment index",
    source="own mutation",
)
class SeqIdxUnasked(ReferenceImplementation):
    """A missing number of slots is taken to be the last boundary, so that there is always a segment index."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        if metadata.total_tokens is None:
            metadata = replace(metadata, total_tokens=int(true_entries(metadata.cu_seqlens)[-1]))
        return super().sequence_params(metadata)
