"""X-COL-16: valid lengths are the slots of each document, padding included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-16",
    area="metadata",
    suffered="padding was attended to as if it were text",
    source="own mutation",
)
class PaddingIsValid(ReferenceImplementation):
    """Valid lengths are the slots of each document, padding included."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, layout=Layout(batch.layout.padded, batch.layout.padded)) for batch in batches)
