"""S19: the boundaries of an empty pack lose their dimension."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "S19",
    area="metadata / THD params",
    suffered="a micro batch in which every row was empty ended the run",
    source="Megatron-Bridge to 0.5.1, training/utils/packed_seq_utils.py",
)
class EmptyPackCrashes(ReferenceImplementation):
    """Squeezing takes away the only dimension of a single boundary, which can then not be cut."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        squeezed = metadata.cu_seqlens.squeeze()
        if squeezed.ndim == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return super().sequence_params(metadata)
