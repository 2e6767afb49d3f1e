"""NM-06: metadata is taken out of the batch."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "NM-06",
    area="metadata / pipeline",
    suffered="all micro batches of a pipeline but the first lost their longest segment",
    source="NeMo #8334",
)
class MetadataPopped(ReferenceImplementation):
    """The longest segment is taken out of the batch that the other micro batches and stages still read."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        object.__setattr__(metadata, "max_seqlen", None)
        return params
