"""X-COL-11: batches are as wide as the longest row, without the multiple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-11",
    area="dataset+collate",
    suffered="kernels that need a multiple fell back or failed",
    source="own mutation",
)
class MultipleForgotten(ReferenceImplementation):
    """Batches are as wide as the longest row, without the multiple."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return super().collate(rows, indices, replace(spec, width_multiple=1))
