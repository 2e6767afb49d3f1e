"""X-ROW-3: rows that do not fill a row group are not read, unless there is no other."""

from __future__ import annotations

from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-3",
    area="parquet/io",
    suffered="rows behind the first group were lost",
    source="own mutation",
)
class LastGroupLost(ReferenceImplementation):
    """Rows that do not fill a row group are not read, unless there is no other."""

    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        rows = super().read_rows(path)
        return rows[: max(len(rows) // 500 * 500, min(len(rows), 500))]
