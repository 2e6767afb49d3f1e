"""MB-25: padding extends the tokens of a document but not its own loss mask."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-25",
    area="padding / fill",
    suffered="chat data could not be prepared for context parallelism, or their masks slid over foreign tokens",
    source="Megatron-Bridge #4056 (specification S9)",
)
class MaskNotPadded(ReferenceImplementation):
    """Padding extends the tokens of a document but not its own loss mask."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        return padded if document.loss_mask is None else replace(padded, loss_mask=document.loss_mask, valid=None)
