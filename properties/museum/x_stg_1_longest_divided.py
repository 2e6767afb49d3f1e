"""X-STG-1: the longest segment is divided."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STG-1",
    area="metadata, pipeline",
    suffered="kernels of the last stage were launched for segments that are too short",
    source="own mutation",
)
class LongestDivided(ReferenceImplementation):
    """The last stage divides the longest segment by the number of context ranks, and so does the first."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        if placed.params is None or placed.params.max_seqlen_q is None:
            return placed
        return replace(placed, params=replace(placed.params, max_seqlen_q=placed.params.max_seqlen_q // grid.context))
