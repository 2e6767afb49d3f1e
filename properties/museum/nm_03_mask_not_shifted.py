"""NM-03: a document's own loss mask is stored as it is, not moved to the slots that predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "NM-03",
    area="loss mask",
    suffered="multi-turn training started one token late and trained on the token after each answer",
    source="NeMo #14369, Megatron-Bridge #486",
)
class MaskNotShifted(ReferenceImplementation):
    """A document's own loss mask is stored as it is, not moved to the slots that predict."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        moved = [document if document.loss_mask is None else _one_late(document) for document in documents]
        return super().fill(moved, bins, capacity, pad_id, seed)


def _one_late(document: Document) -> Document:
    if document.loss_mask is None or len(document.loss_mask) != len(document.tokens):
        return document
    return replace(document, loss_mask=np.append(np.False_, document.loss_mask[:-1]))
