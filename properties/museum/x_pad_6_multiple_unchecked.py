"""X-PAD-6: a multiple below 1 means none."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-6",
    area="padding",
    suffered="a mistyped multiple turned padding off without a word",
    source="own mutation",
)
class MultipleUnchecked(ReferenceImplementation):
    """A multiple below 1 means none."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        return super().pad_document(document, max_length, None if (multiple or 1) < 1 else multiple, pad_id)
