"""X-LAY-3: a segment has at least one multiple."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import cumulative
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LAY-3",
    area="padding",
    suffered="documents without tokens took up slots",
    source="own mutation",
)
class EmptyTakesSlots(ReferenceImplementation):
    """Every segment has at least one multiple of slots, also one without a token."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        exact = super().pad_layout(lengths, multiple)
        return Layout(exact.valid, cumulative(np.maximum(np.diff(exact.padded), multiple)))
