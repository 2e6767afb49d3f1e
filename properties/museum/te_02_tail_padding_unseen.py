"""TE-02: padding behind the last segment is not seen."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-02",
    area="THD params / CP",
    suffered="real keys at the end of the stream were dropped, differently in each run",
    source="TransformerEngine #3331, #1930, #1929 (thd-and-context-parallel B12)",
)
class TailPaddingUnseen(ReferenceImplementation):
    """Padding is looked for without the last boundary; where only that differs, boundaries are divided by W."""

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        exact = super().local_boundaries(layout, world, rank)
        return layout.valid // world if np.array_equal(layout.valid[:-1], layout.padded[:-1]) else exact
