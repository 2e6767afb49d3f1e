"""X-PCK-12: the ledger leads to the first part of a split document only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-12",
    area="packing stats",
    suffered="nobody could find the rest of a document",
    source="own mutation",
)
class RestForgotten(ReferenceImplementation):
    """The ledger leads to the first part of a split document only."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        packed = super().pack_documents(documents, spec)
        return replace(packed, ledger=tuple(replace(entry, rest=()) for entry in packed.ledger or ()))
