"""X-ROW-4: lengths without padding are taken for the stored ones when a file is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-4",
    area="parquet/io",
    suffered="padding was attended to as if it were text",
    source="own mutation",
)
class ValidIsStoredLength(ReferenceImplementation):
    """Lengths without padding are taken for the stored ones when a file is read."""

    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        rows = super().read_rows(path)
        return tuple(replace(row, valid=np.diff(np.append(row.starts, len(row.tokens)))) for row in rows)
