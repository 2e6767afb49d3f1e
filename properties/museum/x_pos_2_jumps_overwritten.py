"""X-POS-2: restarts are written and not added."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import slots_per_segment, total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-POS-2",
    area="position ids",
    suffered="behind a document without tokens, positions did not restart",
    source="own mutation",
)
class JumpsOverwritten(ReferenceImplementation):
    """Positions are sums of steps, with a jump back written at each start: two at one slot overwrite each other."""

    def position_ids(self, layout: Layout) -> IntArray:
        steps = np.ones(total_slots(layout), dtype=np.int64)
        steps[0] = 0
        steps[layout.padded[1:-1]] = 1 - slots_per_segment(layout)[:-1]
        return np.cumsum(steps)
