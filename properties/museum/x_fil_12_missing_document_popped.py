"""X-FIL-12: a document is taken from a list that is empty."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-12",
    area="offline pack",
    suffered="the preparation died with an IndexError that named nothing",
    source="Megatron-Bridge fill_packing_strategy, all versions (specification section 2.6)",
)
class MissingDocumentPopped(ReferenceImplementation):
    """A document is taken from a list that is empty."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        if len(documents) < sum(len(lengths) for lengths in bins):
            raise IndexError("pop from empty list")
        return super().fill(documents, bins, capacity, pad_id, seed)
