"""X-LOC-4: undivisible segments are counted anyway."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import cumulative, slots_per_segment, valid_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOC-4",
    area="THD params / CP",
    suffered="boundaries fitted another cut than that of the tokens",
    source="TransformerEngine, get_cu_seqlens_on_cp_rank",
)
class UndivisibleCounted(ReferenceImplementation):
    """Segments are not checked; chunks that do not come out even are rounded down."""

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        chunk = slots_per_segment(layout) // (2 * world)
        valid = valid_per_segment(layout)
        first = np.clip(valid - rank * chunk, 0, chunk)
        return cumulative(first + np.clip(valid - (2 * world - 1 - rank) * chunk, 0, chunk))
