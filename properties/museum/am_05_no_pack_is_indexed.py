"""AM-05: the first pack is looked at although there may be none."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Document, Overlong, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "AM-05",
    area="offline pack",
    suffered="a data set of documents that were all too long died with an IndexError",
    source="NeMo Automodel #2009",
)
class NoPackIsIndexed(ReferenceImplementation):
    """The first pack is looked at although there may be none."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        limit = min(spec.max_length, spec.capacity)
        fitting = [document for document in documents if len(document.tokens) <= limit + 1]
        if documents and not fitting and spec.overlong == Overlong.DROP:
            raise IndexError("list index out of range")
        return super().pack_documents(documents, spec)
