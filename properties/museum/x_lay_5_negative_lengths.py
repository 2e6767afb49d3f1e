"""X-LAY-5: negative lengths are summed."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import cumulative
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LAY-5",
    area="padding",
    suffered="boundaries decreased",
    source="own mutation",
)
class NegativeLengths(ReferenceImplementation):
    """Lengths are summed without a look at their signs."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        super().pad_layout(np.maximum(lengths, 0), multiple)
        return Layout(cumulative(lengths), cumulative(-(-lengths // multiple) * multiple))
