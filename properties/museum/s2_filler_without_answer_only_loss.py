"""S2: without answer-only loss the empty mask of a filler is never looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "S2",
    area="dataset+collate",
    suffered="rows that filled up the last batch were trained on twice",
    source="Megatron-Bridge collate_fn, all versions (specification S2)",
)
class FillerWithoutAnswerOnlyLoss(ReferenceImplementation):
    """Without answer-only loss the empty mask of a filler is never looked at."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if spec.answer_only_loss:
            return batches
        whole = super().collate(rows, [abs(index) % len(rows) for index in indices], replace(spec, n_samples=None))
        return tuple(replace(batch, loss_mask=kept.loss_mask) for batch, kept in zip(batches, whole, strict=True))
