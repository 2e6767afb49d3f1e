"""X-ROW-9: rows that contradict themselves are made to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-9",
    area="parquet/io",
    suffered="masks of one document stood over the tokens of the next",
    source="own mutation",
)
class BrokenRowsMended(ReferenceImplementation):
    """Rows that contradict themselves are made to fit."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        super().write_rows([_mended(row) for row in rows], path)


def _mended(row: PackedRow) -> PackedRow:
    mask = np.zeros(len(row.tokens), dtype=np.bool_)
    mask[: len(row.loss_mask)] = row.loss_mask
    return replace(row, loss_mask=mask, starts=np.append(0, row.starts[1:]))
