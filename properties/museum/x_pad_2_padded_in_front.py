"""X-PAD-2: padding is put in front of a document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-2",
    area="padding",
    suffered="tokens of documents stood where padding was expected",
    source="own mutation",
)
class PaddedInFront(ReferenceImplementation):
    """Padding is put in front of a document."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        added = max(0, len(padded.tokens) - len(document.tokens))
        return replace(padded, tokens=np.roll(padded.tokens, added))
