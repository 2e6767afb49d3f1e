"""X-PCK-1: the first token of every document is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-1",
    area="offline pack",
    suffered="one empty document ended the preparation",
    source="own mutation",
)
class EmptyDocumentCrashes(ReferenceImplementation):
    """The first token of every document is looked at."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        for document in documents:
            document.tokens[0]
        return super().pack_documents(documents, spec)
