"""X-ROW-1: tokens are stored in 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ROW-1",
    area="parquet/io",
    suffered="tokens of large vocabularies became others",
    source="own mutation",
)
class TokensOf16Bits(ReferenceImplementation):
    """Tokens are stored in 16 bits."""

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        narrow = [replace(row, tokens=row.tokens.astype(np.uint16).astype(np.int64)) for row in rows]
        super().write_rows(narrow, path)
