"""X-PAD-8: the stored length becomes a multiple, so that the runtime length is one slot short of it."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-8",
    area="padding",
    suffered="context parallelism crashed on every padded document",
    source="own mutation",
)
class StoredLengthAligned(ReferenceImplementation):
    """The stored length becomes a multiple, so that the runtime length is one slot short of it."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        if len(padded.tokens) <= len(document.tokens):
            return padded
        return super().pad_document(document, max_length, len(padded.tokens) - 2, pad_id)
