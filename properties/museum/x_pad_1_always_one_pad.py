"""X-PAD-1: every document gets at least one token of padding, where the limit allows it."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-1",
    area="padding",
    suffered="documents were padded where no padding was asked for",
    source="own mutation",
)
class AlwaysOnePad(ReferenceImplementation):
    """Every document gets at least one token of padding, where the limit allows it."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        step = 1 if multiple is None else multiple
        if len(padded.tokens) > len(document.tokens) or len(padded.tokens) - 1 + step > max_length:
            return padded
        return super().pad_document(padded, max_length, len(padded.tokens) - 1 + step, pad_id)
