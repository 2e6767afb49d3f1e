"""X-STG-3: tokens are cut for the first rank."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STG-3",
    area="metadata, pipeline",
    suffered="all context ranks embedded the same tokens",
    source="own mutation",
)
class SliceOfTheFirstRank(ReferenceImplementation):
    """Tokens are cut for the first context rank everywhere."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        first = super().place_batch(batch, grid, replace(place, context=0))
        return replace(placed, tokens=first.tokens)
