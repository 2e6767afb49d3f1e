"""B3b: the slicer needs labels."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "B3b",
    area="CP slicing",
    suffered="pipeline stages without a loss crashed",
    source="Megatron-LM 0.16.1, 0.17.1, get_thd_batch_on_this_cp_rank",
)
class SlicerNeedsLabels(ReferenceImplementation):
    """Arrays that are absent on a stage are cut like the others."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        if batch.labels is None:
            raise AttributeError("'NoneType' object has no attribute 'index_select'")
        return super().slice_batch(batch, world, rank)
