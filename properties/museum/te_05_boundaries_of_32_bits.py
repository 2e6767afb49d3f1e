"""TE-05: offsets overflow 32 bits."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-05",
    area="THD params",
    suffered="long packs had negative offsets",
    source="TransformerEngine #1230",
)
class BoundariesOf32Bits(ReferenceImplementation):
    """Offsets are computed in 32 bits and wrap around."""

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        return super().local_boundaries(layout, world, rank).astype(np.int32).astype(np.int64)
