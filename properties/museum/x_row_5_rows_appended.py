"""X-ROW-5: rows are added to those that the file holds already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-5",
    area="parquet/io",
    suffered="a repeated preparation added to the packs of the one before",
    source="own mutation",
)
class RowsAppended(ReferenceImplementation):
    """Rows are added to those that the file holds already."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        earlier = self.read_rows(path) if path.exists() else ()
        super().write_rows([*earlier, *rows], path)
