"""B21: the end of a row is no border."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.reference import ReferenceImplementation


@bug(
    "B21",
    area="metadata (MBS>1)",
    suffered="the last document of a row went on into the next row",
    source="Megatron-LM, _merge_cu_seqlens_across_micro_batch",
)
class EndsOfRowsLost(ReferenceImplementation):
    """Where one stream ends and the next begins, the border is lost, and two documents become one."""

    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        merged = super().merge_layouts(layouts)
        ends = np.cumsum([layout.padded.size - 1 for layout in layouts])[:-1]
        return Layout(np.delete(merged.valid, ends), np.delete(merged.padded, ends))
