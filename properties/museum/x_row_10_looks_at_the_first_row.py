"""X-ROW-10: the first row is looked at before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-10",
    area="parquet/io",
    suffered="an empty split ended the preparation with an IndexError",
    source="own mutation",
)
class LooksAtTheFirstRow(ReferenceImplementation):
    """The first row is looked at before anything is written."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        kept = [rows[0], *rows[1:]]
        super().write_rows(kept, path)
