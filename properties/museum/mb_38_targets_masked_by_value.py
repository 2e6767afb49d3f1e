"""MB-38: padding is told by its value, so that real targets which equal the pad id lose their loss."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-38",
    area="loss mask",
    suffered="the model never learned to stop",
    source="Megatron-Bridge #4660",
)
class TargetsMaskedByPadId(ReferenceImplementation):
    """Padding is told by its value, so that real targets which equal the pad id lose their loss."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        if padded.loss_mask is None:
            return padded
        return replace(padded, loss_mask=padded.loss_mask & (padded.tokens != pad_id))
