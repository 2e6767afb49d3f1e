"""X-PCK-10: a document of one token loses its border and becomes part of the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackedRow, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-10",
    area="offline pack",
    suffered="a document that filled no slot shifted the borders of its neighbours",
    source="own mutation",
)
class SingleTokenJoinsNeighbour(ReferenceImplementation):
    """A document of one token loses its border and becomes part of the one before it."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        packed = super().pack_documents(documents, spec)
        return replace(packed, rows=tuple(_joined(row) for row in packed.rows), ledger=None)


def _joined(row: PackedRow) -> PackedRow:
    long = np.diff(np.append(row.starts, len(row.tokens))) > 1
    long[0] = True
    return replace(row, starts=row.starts[long], valid=None)
