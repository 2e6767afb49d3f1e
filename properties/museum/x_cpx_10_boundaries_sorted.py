"""X-CPX-10: boundaries are sorted and shifted into shape."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-10",
    area="CP slicing",
    suffered="corrupt boundaries were trained on",
    source="own mutation",
)
class BoundariesSorted(ReferenceImplementation):
    """Boundaries that decrease or do not start at 0 are bent into shape."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        if layout.padded.size < 2:
            return super().partition(layout, world, rank)
        ordered = np.sort(layout.padded) - layout.padded.min()
        return super().partition(Layout(ordered, ordered), world, rank)
