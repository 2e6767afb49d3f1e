"""X-FIL-4: tokens that equal the pad id are taken out of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-4",
    area="padding / fill",
    suffered="tokens that looked like padding were lost",
    source="own mutation",
)
class PadIdDropped(ReferenceImplementation):
    """Tokens that equal the pad id are taken out of the rows."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        rows = super().fill(documents, bins, capacity, pad_id, seed)
        return tuple(_without(row, pad_id) for row in rows)


def _without(row: PackedRow, pad_id: int) -> PackedRow:
    kept = row.tokens != pad_id
    kept[row.starts] = True
    kept[np.append(row.starts[1:], len(row.tokens)) - 1] = True
    starts = (np.cumsum(kept) - kept)[row.starts]
    return replace(row, tokens=row.tokens[kept], loss_mask=row.loss_mask[kept], starts=starts, valid=None)
