"""ML-02: truncation extends a list by a number instead of a list."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-02",
    area="dataset+collate / truncation",
    suffered="every document longer than the limit ended in a TypeError",
    source="Megatron-LM #3185",
)
class OverflowCrashes(ReferenceImplementation):
    """Truncation extends a list by a number instead of a list."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        if len(document.tokens) - 1 > max_length:
            raise TypeError("'int' object is not iterable")
        return super().pad_document(document, max_length, multiple, pad_id)
