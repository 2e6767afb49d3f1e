"""X-MSK-1: valid tokens are taken to be compact."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import total_slots
from reference_impl.batches import Layout
from reference_impl.documents import BoolArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MSK-1",
    area="padding / metadata (MoE)",
    suffered="tokens behind the first padded document passed for padding",
    source="own mutation",
)
class MaskOfTheTail(ReferenceImplementation):
    """Valid tokens are taken to lie at the start of the stream, so that the mask covers only its tail."""

    def padding_mask(self, layout: Layout) -> BoolArray:
        return np.arange(total_slots(layout)) >= layout.valid[-1]
