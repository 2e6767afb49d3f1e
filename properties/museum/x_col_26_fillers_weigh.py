"""X-COL-26: a negative index counts from the end, like in a list."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-26",
    area="dataset+collate",
    suffered="rows that filled up the last batch were trained on twice",
    source="own mutation",
)
class FillersWeigh(ReferenceImplementation):
    """A negative index counts from the end, like in a list."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        n_samples = len(rows) if spec.n_samples is None else spec.n_samples
        return super().collate(rows, [index % n_samples for index in indices], spec)
