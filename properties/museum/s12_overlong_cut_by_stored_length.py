"""S12: a document beyond the limit keeps as many stored tokens as the limit has slots."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "S12",
    area="padding",
    suffered="truncated documents lost a slot and were no multiple any more",
    source="Megatron-Bridge tokenize_dataset up to 0.5.1 (specification S12)",
)
class OverlongCutByStoredLength(ReferenceImplementation):
    """A document beyond the limit keeps as many stored tokens as the limit has slots."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        if len(document.tokens) <= max_length or (multiple or 1) < 2:
            return padded
        return super().pad_document(document, max_length - 1, 1, pad_id)
