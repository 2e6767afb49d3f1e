"""X-COL-22: without metadata static boundaries are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-22",
    area="cuda graph padding",
    suffered="CUDA graphs were replayed with boundaries of another shape",
    source="own mutation",
)
class MetadataGuessed(ReferenceImplementation):
    """Without metadata static boundaries are left out."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        static = spec.static_boundaries and bool(spec.metadata)
        return super().collate(rows, indices, replace(spec, static_boundaries=static))
