"""S38: SystemExit is raised where a file cannot be read."""

from __future__ import annotations

from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.errors import PackingError
from reference_impl.reference import ReferenceImplementation


@bug(
    "S38",
    area="parquet/io",
    suffered="a mistyped path ended the process with exit code 1 and no exception to catch",
    source="Megatron-Bridge GPTSFTPackedDataset, all versions (specification S38)",
)
class LoadErrorExits(ReferenceImplementation):
    """SystemExit is raised where a file cannot be read."""

    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        try:
            return super().read_rows(path)
        except PackingError as error:
            raise SystemExit(1) from error
