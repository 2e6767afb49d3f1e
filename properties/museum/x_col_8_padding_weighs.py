"""X-COL-8: without answer-only loss the padding of documents weighs as much as their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-8",
    area="loss mask",
    suffered="the model trained on padding",
    source="own mutation",
)
class PaddingWeighs(ReferenceImplementation):
    """Without answer-only loss the padding of documents weighs as much as their tokens."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        if spec.answer_only_loss:
            return super().collate(rows, indices, spec)
        return super().collate([replace(row, valid=None) for row in rows], indices, spec)
