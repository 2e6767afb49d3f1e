"""S11: a document that is a multiple already gets one more multiple, where the limit allows it."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "S11",
    area="padding",
    suffered="documents carried a whole multiple of padding for nothing",
    source="Megatron-Bridge tokenize_dataset up to 0.5.1 (specification S11)",
)
class AlignedDocumentsPadded(ReferenceImplementation):
    """A document that is a multiple already gets one more multiple, where the limit allows it."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        longer = len(padded.tokens) - 1 + (multiple or 1)
        if not multiple or multiple < 2 or len(padded.tokens) != len(document.tokens) or longer > max_length:
            return padded
        return super().pad_document(document, longer, longer, pad_id)
