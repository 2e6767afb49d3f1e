"""MB-26: the shifted mask ends in a bool behind integers, and the column type is inferred from both."""

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
    """The shifted mask ends in a bool behind integers, and the column type is inferred from both."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        if path.suffix == ".parquet":
            for row in rows:
                kinds = {type(weight) for weight in [*row.loss_mask[:-1].astype(int).tolist(), False]}
                if row.loss_mask.any() and len(kinds) > 1:
                    raise TypeError("Could not convert False with type bool: tried to convert to int64")
        super().write_rows(rows, path)
