"""MB-08: the stored length is rounded up, not the runtime length, and the limit is not rounded down."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-08",
    area="padding",
    suffered="context parallelism crashed on long documents, and aligned ones carried a whole multiple of padding",
    source="Megatron-Bridge #4598 (specification S10, S11, S12)",
)
class StoredLengthRounded(ReferenceImplementation):
    """The stored length is rounded up, not the runtime length, and the limit is not rounded down."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        if multiple is None or multiple < 2:
            return super().pad_document(document, max_length, multiple, pad_id)
        super().pad_document(document, max_length, multiple, pad_id)
        stored = len(document.tokens)
        if stored > max_length:
            return super().pad_document(document, max_length - 1, 1, pad_id)
        length = min(max_length, -(-stored // multiple) * multiple)
        return super().pad_document(document, length, length, pad_id)
