"""X-MRG-3: all rows are taken to be as long as the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MRG-3",
    area="metadata (MBS>1)",
    suffered="documents of later rows were cut at other borders",
    source="Megatron-LM, flatten_batch_for_packed_sequences (thd-and-context-parallel B21)",
)
class LengthOfTheFirstRow(ReferenceImplementation):
    """Row i is shifted by i times the length of the first row."""

    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        merged = super().merge_layouts(layouts)
        length = int(layouts[0].padded[-1])
        shifted = [layout.padded[1:] + index * length for index, layout in enumerate(layouts)]
        return Layout(merged.valid, np.concatenate([np.zeros(1, dtype=np.int64), *shifted]))
