"""X-SLC-2: loss weights are cut as one long document."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import layout_of, owned_slots, total_slots
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SLC-2",
    area="CP slicing",
    suffered="prompts were trained and answers were not",
    source="own mutation",
)
class WeightsOfTheStream(ReferenceImplementation):
    """Loss weights are cut as if the stream were one document, tokens document by document."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        part = super().slice_batch(batch, world, rank)
        slots = owned_slots(layout_of([total_slots(batch.layout)]), world, rank)
        return replace(part, loss_mask=None if batch.loss_mask is None else batch.loss_mask[slots])
