"""X-PAD-3: tokens before the last one that equal the pad id are taken for earlier padding and removed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-3",
    area="padding",
    suffered="tokens that looked like padding were lost",
    source="own mutation",
)
class PadIdStripped(ReferenceImplementation):
    """Tokens before the last one that equal the pad id are taken for earlier padding and removed."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        tokens = document.tokens
        if len(tokens) < 3 or document.loss_mask is not None or tokens[-2] != pad_id:
            return super().pad_document(document, max_length, multiple, pad_id)
        content = np.flatnonzero(tokens[:-1] != pad_id)
        kept = np.append(tokens[: int(content[-1]) + 1 if len(content) else 1], tokens[-1])
        return super().pad_document(replace(document, tokens=kept), max_length, multiple, pad_id)
