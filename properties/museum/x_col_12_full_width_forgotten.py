"""X-COL-12: rows are padded to a multiple also where the full width was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-12",
    area="dataset+collate",
    suffered="compiled graphs met another shape than they were made for",
    source="own mutation",
)
class FullWidthForgotten(ReferenceImplementation):
    """Rows are padded to a multiple also where the full width was asked for."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        to_width = spec.pad_to_width and spec.static_boundaries
        return super().collate(rows, indices, replace(spec, pad_to_width=to_width))
