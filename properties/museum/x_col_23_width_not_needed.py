"""X-COL-23: without a static width static boundaries are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-23",
    area="cuda graph padding",
    suffered="CUDA graphs were replayed with tokens of another shape",
    source="own mutation",
)
class WidthNotNeeded(ReferenceImplementation):
    """Without a static width static boundaries are left out."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        static = spec.static_boundaries and spec.pad_to_width
        return super().collate(rows, indices, replace(spec, static_boundaries=static))
