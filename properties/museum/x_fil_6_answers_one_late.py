"""X-FIL-6: a slot is trained on when its own token belongs to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-6",
    area="loss mask",
    suffered="the model missed the first token of every answer",
    source="own mutation",
)
class AnswersOneLate(ReferenceImplementation):
    """A slot is trained on when its own token belongs to the answer."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        late = [
            document if document.answer_start is None else replace(document, answer_start=document.answer_start + 1)
            for document in documents
        ]
        return super().fill(late, bins, capacity, pad_id, seed)
