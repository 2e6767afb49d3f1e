"""X-FIL-1: the place of every length is filled with the same document."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-1",
    area="offline pack",
    suffered="some documents were trained on many times, others never",
    source="own mutation",
)
class OneDocumentPerLength(ReferenceImplementation):
    """The place of every length is filled with the same document."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        first = {len(document.tokens): document for document in reversed(documents)}
        return super().fill([first[len(document.tokens)] for document in documents], bins, capacity, pad_id, seed)
