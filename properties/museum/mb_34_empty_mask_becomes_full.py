"""MB-34: where truncation leaves no target, every token becomes one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-34",
    area="loss mask",
    suffered="the model trained on the prompts of documents whose answers were cut off",
    source="Megatron-Bridge #4507",
)
class EmptyMaskBecomesFull(ReferenceImplementation):
    """Where truncation leaves no target, every token becomes one."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        if len(padded.tokens) >= len(document.tokens) or padded.loss_mask is None or padded.loss_mask.any():
            return padded
        return replace(padded, loss_mask=np.ones(len(padded.tokens), dtype=np.bool_))
