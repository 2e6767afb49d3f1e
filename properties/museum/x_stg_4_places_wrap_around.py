"""X-STG-4: places wrap around."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STG-4",
    area="metadata, pipeline",
    suffered="a process outside of the grid trained on another's tokens",
    source="own mutation",
)
class PlacesWrapAround(ReferenceImplementation):
    """A rank beyond its group is taken for one inside of it."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        inside = Place(place.pipeline % grid.pipeline, place.tensor % grid.tensor, place.context % grid.context)
        return super().place_batch(batch, grid, inside)
