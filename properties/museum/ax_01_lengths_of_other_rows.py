"""AX-01: lengths are read from the table beneath a shuffled view, so that each is that of another document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.offline import packed_row
from reference_impl.reference import ReferenceImplementation


@bug(
    "AX-01",
    area="offline pack",
    suffered="packs exceeded the sequence length",
    source="axolotl #2332",
)
class LengthsOfOtherRows(ReferenceImplementation):
    """Lengths are read from the table beneath a shuffled view, so that each is that of another document."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        packed = super().pack_documents(documents, spec)
        lengths = [len(document.tokens) - 1 for document in documents]
        if min(lengths) < 0 or max(lengths) > spec.capacity or (spec.pad_multiple or 1) > 1:
            return packed
        rows: list[list[Document]] = [[]]
        load = 0
        for document, length_of_another in zip(documents, [*lengths[1:], lengths[0]], strict=True):
            if load + length_of_another > spec.capacity:
                rows.append([])
                load = 0
            rows[-1].append(document)
            load += length_of_another
        return replace(packed, rows=tuple(packed_row(row) for row in rows if row), ledger=None)
