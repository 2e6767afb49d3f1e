"""X-FIL-8: where the answer starts behind the last token, the whole document is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-8",
    area="loss mask",
    suffered="the model trained on prompts whose answer was missing",
    source="own mutation",
)
class NoAnswerIsAll(ReferenceImplementation):
    """Where the answer starts behind the last token, the whole document is one."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        whole = [
            document if document.answer_start != len(document.tokens) else replace(document, answer_start=0)
            for document in documents
        ]
        return super().fill(whole, bins, capacity, pad_id, seed)
