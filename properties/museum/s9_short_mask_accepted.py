"""S9: a loss mask of another length than its tokens is stored as if it fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "S9",
    area="padding / fill",
    suffered="the masks of all later documents of a row slid over foreign tokens",
    source="Megatron-Bridge fill_packing_strategy up to 0.5.1 (specification S9)",
)
class ShortMaskAccepted(ReferenceImplementation):
    """A loss mask of another length than its tokens is stored as if it fitted."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        return super().fill([_made_to_fit(document) for document in documents], bins, capacity, pad_id, seed)


def _made_to_fit(document: Document) -> Document:
    if document.loss_mask is None:
        return document
    missing = len(document.tokens) - len(document.loss_mask)
    return replace(document, loss_mask=np.pad(document.loss_mask, (0, missing)))
