"""X-IDX-3: segments without slots are not numbered."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-IDX-3",
    area="mamba seq_idx",
    suffered="segment numbers named other documents than boundaries did",
    source="own mutation",
)
class Renumbered(ReferenceImplementation):
    """Segments of no slot have no number, so that those behind them have another one."""

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        padded = np.unique(layout.padded)
        return super().sequence_index(Layout(padded, padded), total)
