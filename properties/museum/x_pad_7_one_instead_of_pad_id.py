"""X-PAD-7: padding holds a fixed token, whatever the pad id."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-7",
    area="padding",
    suffered="padding was a token of the vocabulary with a meaning",
    source="own mutation",
)
class OneInsteadOfPadId(ReferenceImplementation):
    """Padding holds a fixed token, whatever the pad id."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        return super().pad_document(document, max_length, multiple, 1)
