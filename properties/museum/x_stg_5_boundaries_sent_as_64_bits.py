"""X-STG-5: boundaries are sent to later stages as 64-bit integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STG-5",
    area="metadata, pipeline",
    suffered="kernels of later stages refused the boundaries, or read every other one as 0",
    source="own mutation",
)
class BoundariesSentAs64Bits(ReferenceImplementation):
    """Boundaries of valid lengths are sent to later stages in the buffer of the tokens, which are 64-bit."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        if placed.params is None or not place.pipeline:
            return placed
        sent = placed.params.cu_seqlens_q.astype(np.int64)
        return replace(placed, params=replace(placed.params, cu_seqlens_q=sent, cu_seqlens_kv=sent))
