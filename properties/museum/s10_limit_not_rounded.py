"""S10: a document near a limit that is no multiple is padded to the limit."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "S10",
    area="padding",
    suffered="context parallelism crashed on the longest documents",
    source="Megatron-Bridge tokenize_dataset up to 0.5.1 (specification S10)",
)
class LimitNotRounded(ReferenceImplementation):
    """A document near a limit that is no multiple is padded to the limit."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        if len(padded.tokens) < len(document.tokens) <= max_length + 1:
            return super().pad_document(document, max_length, max_length, pad_id)
        return padded
