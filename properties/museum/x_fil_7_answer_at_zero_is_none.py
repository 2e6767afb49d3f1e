"""X-FIL-7: an answer that starts at 0 is taken for no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-7",
    area="loss mask",
    suffered="documents without a prompt were not trained on",
    source="own mutation",
)
class AnswerAtZeroIsNone(ReferenceImplementation):
    """An answer that starts at 0 is taken for no answer."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        without = [
            document if document.answer_start != 0 else replace(document, answer_start=len(document.tokens))
            for document in documents
        ]
        return super().fill(without, bins, capacity, pad_id, seed)
