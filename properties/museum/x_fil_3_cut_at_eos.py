"""X-FIL-3: what follows the first token that equals a document's last one is overwritten with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-3",
    area="offline pack",
    suffered="multi-turn documents were cut at the end of their first turn",
    source="own mutation",
)
class CutAtEos(ReferenceImplementation):
    """What follows the first token that equals a document's last one is overwritten with it."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        return super().fill([_cut(document) for document in documents], bins, capacity, pad_id, seed)


def _cut(document: Document) -> Document:
    seen = np.logical_or.accumulate(document.tokens == document.tokens[-1])
    return replace(document, tokens=np.where(seen, document.tokens[-1], document.tokens))
