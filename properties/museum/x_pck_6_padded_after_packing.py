"""X-PCK-6: documents are padded after they were assigned to bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.offline import packed_row
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-6",
    area="offline pack",
    suffered="padding that was not counted made rows wider than the buffers",
    source="own mutation",
)
class PaddedAfterPacking(ReferenceImplementation):
    """Documents are padded after they were assigned to bins."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        multiple = spec.pad_multiple or 1
        lengths = [len(document.tokens) - 1 for document in documents]
        limit = spec.capacity // multiple * multiple
        if multiple == 1 or min(lengths) < 1 or max(lengths) > min(limit, spec.max_length):
            return super().pack_documents(documents, spec)
        packed = super().pack_documents(documents, replace(spec, pad_multiple=None))
        padded = [self.pad_document(document, limit, multiple, spec.pad_id) for document in documents]
        places = [(entry.row, document) for entry, document in zip(packed.ledger or (), padded, strict=True)]
        rows = [[document for row, document in places if row == number] for number in range(len(packed.rows))]
        return replace(packed, rows=tuple(packed_row(row) for row in rows), ledger=None)
