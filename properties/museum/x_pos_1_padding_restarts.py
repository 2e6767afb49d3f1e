"""X-POS-1: padding has position 0."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import is_padding
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-POS-1",
    area="position ids",
    suffered="kernels that find documents by position 0 saw each slot of padding as one",
    source="own mutation",
)
class PaddingRestarts(ReferenceImplementation):
    """Padding has position 0 throughout."""

    def position_ids(self, layout: Layout) -> IntArray:
        return np.where(is_padding(layout), 0, super().position_ids(layout))
