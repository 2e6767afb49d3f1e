"""X-COL-21: boundary arrays keep their own length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import AnyArray, CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-21",
    area="cuda graph padding",
    suffered="CUDA graphs were replayed with boundaries of another shape",
    source="own mutation",
)
class StaticForgotten(ReferenceImplementation):
    """Boundary arrays keep their own length."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(
            replace(batch, raw={name: _own(batch, array) for name, array in batch.raw.items()}) for batch in batches
        )


def _own(batch: ThdBatch, array: AnyArray) -> AnyArray:
    return array[: len(batch.layout.padded)] if array.size > 1 else array
