"""X-FIL-9: whether documents have a mask of their own is decided for all of one length together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-9",
    area="loss mask",
    suffered="one document without a mask changed how all others of its length were trained on",
    source="Megatron-Bridge fill_packing_strategy, all versions (specification section 2.6)",
)
class MasksByGroup(ReferenceImplementation):
    """Whether documents have a mask of their own is decided for all of one length together."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        without = {len(document.tokens) for document in documents if document.loss_mask is None}
        grouped = [
            replace(document, loss_mask=None, answer_start=document.answer_start or 0)
            if len(document.tokens) in without
            else document
            for document in documents
        ]
        return super().fill(grouped, bins, capacity, pad_id, seed)
