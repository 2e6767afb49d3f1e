"""X-FIL-10: starts count runtime slots, not stored tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-10",
    area="offline pack",
    suffered="readers cut documents at wrong borders",
    source="own mutation",
)
class StartsInSlots(ReferenceImplementation):
    """Starts count runtime slots, not stored tokens."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        rows = super().fill(documents, bins, capacity, pad_id, seed)
        return tuple(replace(row, starts=row.starts - np.arange(len(row.starts)), valid=None) for row in rows)
