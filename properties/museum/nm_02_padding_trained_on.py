"""NM-02: the answer reaches from its start to the end of the padded document, padding included."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "NM-02",
    area="loss mask / padding",
    suffered="the model learned to repeat EOS",
    source="NeMo #11444 (specification S1)",
)
class PaddingTrainedOn(ReferenceImplementation):
    """The answer reaches from its start to the end of the padded document, padding included."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        padded = super().pad_document(document, max_length, multiple, pad_id)
        if document.answer_start is None:
            return padded
        return Document(padded.tokens, answer_start=document.answer_start)
