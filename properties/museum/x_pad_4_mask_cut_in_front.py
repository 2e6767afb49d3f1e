"""X-PAD-4: truncation keeps the first tokens, but the last entries of the mask."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-4",
    area="padding / fill",
    suffered="masks of truncated documents belonged to other tokens",
    source="own mutation",
)
class MaskCutInFront(ReferenceImplementation):
    """Truncation keeps the first tokens, but the last entries of the mask."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        if document.loss_mask is None or len(padded.tokens) >= len(document.tokens):
            return padded
        return replace(padded, loss_mask=document.loss_mask[-len(padded.tokens) :])
