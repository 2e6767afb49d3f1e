"""X-COL-25: samples are collated in the order of their indices."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-25",
    area="dataset+collate",
    suffered="samples were exchanged between ranks",
    source="own mutation",
)
class SamplesSorted(ReferenceImplementation):
    """Samples are collated in the order of their indices."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return super().collate(rows, sorted(indices), spec)
