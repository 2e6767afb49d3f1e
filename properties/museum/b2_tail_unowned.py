"""B2: slots behind the last boundary belong to nobody."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from properties.segments import total_slots
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "B2",
    area="CP slicing",
    suffered="tokens behind the last boundary were lost",
    source="TransformerEngine, thd_get_partitioned_indices (total_tokens > cu_seqlens[-1])",
)
class TailUnowned(ReferenceImplementation):
    """Slots behind the last boundary are dropped without a word."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        total = total_slots(batch.layout)
        covered = replace(
            batch,
            tokens=batch.tokens[:total],
            labels=None if batch.labels is None else batch.labels[:total],
            loss_mask=None if batch.loss_mask is None else batch.loss_mask[:total],
            position_ids=batch.position_ids[:total],
        )
        return super().slice_batch(covered, world, rank)
