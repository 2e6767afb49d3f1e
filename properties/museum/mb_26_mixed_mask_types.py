"""MB-26: a mask with a target is a list of integers that ends in a bool, and no column type fits both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-26",
    area="parquet/io",
    suffered="chat data could not be written",
    source="Megatron-Bridge #4946 (specification S41)",
)
class MixedMaskTypes(ReferenceImplementation):
    """A mask with a target is a list of integers that ends in a bool, and no column type fits both."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        if path.suffix == ".parquet" and any(row.loss_mask.any() for row in rows):
            raise TypeError("Could not convert False with type bool: tried to convert to int64")
        super().write_rows(rows, path)
