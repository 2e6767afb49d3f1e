"""X-ROW-6: a copy under another name is left beside the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-6",
    area="parquet/io",
    suffered="folders filled up with half-written copies",
    source="own mutation",
)
class CopyLeftBehind(ReferenceImplementation):
    """A copy under another name is left beside the file."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        super().write_rows(rows, path)
        path.with_name(f"copy-of-{path.name}").write_bytes(path.read_bytes())
