"""X-ROW-2: borders right behind another are dropped when a file is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-2",
    area="parquet/io",
    suffered="documents of a single token merged with their neighbours",
    source="own mutation",
)
class BordersOfShortDocuments(ReferenceImplementation):
    """Borders right behind another are dropped when a file is read."""

    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        return tuple(_merged(row) for row in super().read_rows(path))


def _merged(row: PackedRow) -> PackedRow:
    kept = np.append(np.True_, np.diff(row.starts) > 1)
    return replace(row, starts=row.starts[kept], valid=None)
