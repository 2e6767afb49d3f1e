"""X-MSK-3: repeated boundaries are dropped from one array."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import position_of, total_slots, valid_per_segment
from reference_impl.batches import Layout
from reference_impl.documents import BoolArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MSK-3",
    area="padding / metadata (MoE)",
    suffered="behind a document without tokens, padding and tokens changed places",
    source="own mutation",
)
class GhostsShiftTheMask(ReferenceImplementation):
    """Repeated slot boundaries are dropped and valid ones are not, so that the two arrays name other segments."""

    def padding_mask(self, layout: Layout) -> BoolArray:
        slots = np.arange(total_slots(layout))
        number = np.searchsorted(np.unique(layout.padded), slots, side="right") - 1
        return position_of(layout) >= valid_per_segment(layout)[number]
