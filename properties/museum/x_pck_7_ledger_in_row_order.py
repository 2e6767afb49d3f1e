"""X-PCK-7: the ledger lists documents in the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-7",
    area="packing stats",
    suffered="nobody could tell what became of a document",
    source="own mutation",
)
class LedgerInRowOrder(ReferenceImplementation):
    """The ledger lists documents in the order of the rows."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        packed = super().pack_documents(documents, spec)
        ledger = sorted(packed.ledger or (), key=lambda entry: (entry.row or 0, entry.segment or 0))
        return replace(packed, ledger=tuple(replace(entry, document=n) for n, entry in enumerate(ledger)))
