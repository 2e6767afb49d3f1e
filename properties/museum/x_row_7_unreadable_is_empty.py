"""X-ROW-7: a file that cannot be read holds no row."""

from __future__ import annotations

from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.errors import PackingError
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-7",
    area="parquet/io",
    suffered="a run trained on nothing, or on the part that was written before a crash",
    source="own mutation",
)
class UnreadableIsEmpty(ReferenceImplementation):
    """A file that cannot be read holds no row."""

    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        try:
            return super().read_rows(path)
        except PackingError:
            return ()
