"""X-PCK-8: all documents are cut to the same length when one is over-long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-8",
    area="offline pack",
    suffered="one long document changed the documents beside it",
    source="own mutation",
)
class AllCutAlike(ReferenceImplementation):
    """All documents are cut to the same length when one is over-long."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        limit = min(spec.max_length, spec.capacity)
        if all(len(document.tokens) <= limit + 1 for document in documents):
            return super().pack_documents(documents, spec)
        shorter = min(limit, *(max(1, len(document.tokens) - 2) for document in documents))
        return super().pack_documents(documents, replace(spec, max_length=shorter))
