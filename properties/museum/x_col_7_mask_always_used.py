"""X-COL-7: the stored mask decides also without answer-only loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-7",
    area="loss mask",
    suffered="prompts were not trained on although that was asked for",
    source="own mutation",
)
class MaskAlwaysUsed(ReferenceImplementation):
    """The stored mask decides also without answer-only loss."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return super().collate(rows, indices, replace(spec, answer_only_loss=True))
