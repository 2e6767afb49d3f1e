"""X-FIL-2: documents that fill no slot are left out of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-2",
    area="offline pack",
    suffered="documents of a single token were lost",
    source="own mutation",
)
class SingleTokensSkipped(ReferenceImplementation):
    """Documents that fill no slot are left out of the rows."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        long = [document for document in documents if len(document.tokens) > 1]
        without = tuple(tuple(length for length in lengths if length > 0) for lengths in bins)
        return super().fill(long, tuple(lengths for lengths in without if lengths), capacity, pad_id, seed)
