"""X-ROW-8: masks are not stored in NumPy files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-8",
    area="parquet/io",
    suffered="every token of old packed files was trained on",
    source="own mutation",
)
class NpyWithoutMasks(ReferenceImplementation):
    """Masks are not stored in NumPy files."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        bare = [replace(row, loss_mask=np.ones(len(row.tokens), dtype=np.bool_)) for row in rows]
        super().write_rows(bare if path.suffix == ".npy" else rows, path)
