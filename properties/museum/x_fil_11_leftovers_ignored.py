"""X-FIL-11: documents for which there is no place are ignored."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-11",
    area="offline pack",
    suffered="documents were lost without a word",
    source="own mutation",
)
class LeftoversIgnored(ReferenceImplementation):
    """Documents for which there is no place are ignored."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        places = [length for lengths in bins for length in lengths]
        placed: list[Document] = []
        for document in documents:
            if len(document.tokens) - 1 in places:
                places.remove(len(document.tokens) - 1)
                placed.append(document)
        return super().fill(placed, bins, capacity, pad_id, seed)
