"""S7-padding: a missing multiple is compared with a number."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "S7-padding",
    area="padding",
    suffered="a document multiple of None, allowed by its type, ended the preparation with a TypeError",
    source="Megatron-Bridge tokenize_dataset up to 0.5.1 (specification S7)",
)
class MultipleNoneInPadding(ReferenceImplementation):
    """A missing multiple is compared with a number."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        if multiple is None:
            raise TypeError("'>' not supported between instances of 'NoneType' and 'int'")
        return super().pad_document(document, max_length, multiple, pad_id)
