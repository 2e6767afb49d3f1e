"""X-PCK-11: a document is split between two tokens, and the second has no token in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, Overlong, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-11",
    area="offline pack",
    suffered="the token after every cut was never trained on",
    source="own mutation",
)
class CutBetweenTokens(ReferenceImplementation):
    """A document is split between two tokens, and the second has no token in front of it."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        if spec.overlong != Overlong.SPLIT:
            return super().pack_documents(documents, spec)
        stored = min(spec.max_length, spec.capacity) + 1
        parts = [
            replace(
                document,
                tokens=document.tokens[start : start + stored],
                loss_mask=None if document.loss_mask is None else document.loss_mask[start : start + stored],
                answer_start=None if document.answer_start is None else max(document.answer_start - start, 0),
            )
            for document in documents
            for start in range(0, document.tokens.size, stored)
        ]
        return super().pack_documents(parts, spec)
