"""MB-23: the slots of the stream are not passed on."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-23",
    area="mamba seq_idx",
    suffered="state of recurrent layers flowed from one document into the next",
    source="Megatron-Bridge #3484, NeMo-RL #2529",
)
class TotalTokensForgotten(ReferenceImplementation):
    """The slots of the stream do not reach the parameters, so that there is no segment index."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        return super().sequence_params(replace(metadata, total_tokens=None))
