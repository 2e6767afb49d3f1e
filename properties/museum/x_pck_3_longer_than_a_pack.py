"""X-PCK-3: documents are cut to the longest allowed length, then looked up among lengths up to the capacity."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-3",
    area="offline pack",
    suffered="a document longer than a pack ended the preparation with a bare KeyError",
    source="Megatron-Bridge prepare_packed_sequence_data, all versions (specification S6)",
)
class LongerThanAPack(ReferenceImplementation):
    """Documents are cut to the longest allowed length, then looked up among lengths up to the capacity."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        for document in documents:
            if spec.capacity < len(document.tokens) - 1 <= spec.max_length:
                raise KeyError(len(document.tokens) - 1)
        return super().pack_documents(documents, spec)
