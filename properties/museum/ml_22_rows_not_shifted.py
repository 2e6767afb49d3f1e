"""ML-22: rows are put together without offsets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-22",
    area="metadata (MBS>1)",
    suffered="boundaries of all rows but the first pointed into the first",
    source="Megatron-LM #5454",
)
class RowsNotShifted(ReferenceImplementation):
    """Boundaries of the streams are put one after another without being shifted."""

    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        valid = [layout.valid[1:] for layout in layouts]
        padded = [layout.padded[1:] for layout in layouts]
        zero = np.zeros(1, dtype=np.int64)
        return Layout(np.concatenate([zero, *valid]), np.concatenate([zero, *padded]))
