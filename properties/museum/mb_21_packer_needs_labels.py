"""MB-21-labels: the packer needs labels."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-21-labels",
    area="in-batch / pipeline",
    suffered="pipeline stages without a loss crashed in the packer",
    source="Megatron-Bridge #2825",
)
class PackerNeedsLabels(ReferenceImplementation):
    """The packer reads labels that stages without a loss do not have."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        if batch.labels is None:
            raise AttributeError("'NoneType' object has no attribute 'dtype'")
        return super().pack_in_batch(batch, multiple, pad_id)
