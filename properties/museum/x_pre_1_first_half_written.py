"""X-PRE-1: only the first packs are written, at least one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PRE-1",
    area="parquet/io",
    suffered="half of the packs were never trained on",
    source="own mutation",
)
class FirstHalfWritten(ReferenceImplementation):
    """Only the first packs are written, at least one."""

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        files = super().prepare(documents, spec, folder)
        rows = self.read_rows(files.rows)
        self.write_rows(rows[: max(1, len(rows) // 2)], files.rows)
        return files
