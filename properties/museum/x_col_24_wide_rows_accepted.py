"""X-COL-24: a row wider than the width makes a wider batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-24",
    area="dataset+collate",
    suffered="stale packed files reached kernels that had no room for them",
    source="own mutation, after Megatron-LM #3185",
)
class WideRowsAccepted(ReferenceImplementation):
    """A row wider than the width makes a wider batch."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        widest = max(len(row.tokens) - len(row.starts) for row in rows)
        return super().collate(rows, indices, replace(spec, width=max(widest, spec.width)))
