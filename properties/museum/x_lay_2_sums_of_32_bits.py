"""X-LAY-2: boundaries are summed in 32 bits."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LAY-2",
    area="padding",
    suffered="long streams had negative boundaries",
    source="own mutation",
)
class SumsOf32Bits(ReferenceImplementation):
    """Boundaries are summed in 32 bits and wrap around."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        exact = super().pad_layout(lengths, multiple)
        return Layout(exact.valid, exact.padded.astype(np.int32).astype(np.int64))
