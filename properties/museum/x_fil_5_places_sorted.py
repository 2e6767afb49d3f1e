"""X-FIL-5: documents of a row are put in ascending order of length."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-5",
    area="offline pack",
    suffered="rows differed from the bins that were planned",
    source="own mutation",
)
class PlacesSorted(ReferenceImplementation):
    """Documents of a row are put in ascending order of length."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        return super().fill(documents, tuple(tuple(sorted(lengths)) for lengths in bins), capacity, pad_id, seed)
