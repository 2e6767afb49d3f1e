"""S6: documents are looked up by length, and only lengths up to the capacity were collected."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "S6",
    area="offline pack",
    suffered="the preparation died with a bare KeyError",
    source="Megatron-Bridge fill_packing_strategy, all versions (specification S6)",
)
class BinOfUnknownLength(ReferenceImplementation):
    """Documents are looked up by length, and only lengths up to the capacity were collected."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        for lengths in bins:
            if sum(lengths) > capacity:
                raise KeyError(max(lengths))
        return super().fill(documents, bins, capacity, pad_id, seed)
