"""X-FIL-14: the mask of a row leaves the last slot out, as it has no target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-14",
    area="padding / fill",
    suffered="masks slid over foreign tokens",
    source="own mutation",
)
class MaskWithoutLastEntry(ReferenceImplementation):
    """The mask of a row leaves the last slot out, as it has no target."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        rows = super().fill(documents, bins, capacity, pad_id, seed)
        return tuple(replace(row, loss_mask=row.loss_mask[:-1]) for row in rows)
