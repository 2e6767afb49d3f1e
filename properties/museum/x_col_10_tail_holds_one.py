"""X-COL-10: the tail of a row holds a fixed token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-10",
    area="dataset+collate",
    suffered="the tail of rows held a token of the vocabulary with a meaning",
    source="own mutation",
)
class TailHoldsOne(ReferenceImplementation):
    """The tail of a row holds a fixed token."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return super().collate(rows, indices, replace(spec, eos_id=1))
