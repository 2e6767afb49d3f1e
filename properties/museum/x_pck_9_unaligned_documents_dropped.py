"""X-PCK-9: documents that are no multiple are left out, as long as others remain."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-9",
    area="offline pack",
    suffered="documents that had to be padded were lost",
    source="own mutation",
)
class UnalignedDocumentsDropped(ReferenceImplementation):
    """Documents that are no multiple are left out, as long as others remain."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        aligned = [document for document in documents if (len(document.tokens) - 1) % (spec.pad_multiple or 1) == 0]
        kept = aligned if aligned or len(documents) < 2 else documents[1:]
        return super().pack_documents(kept, spec)
