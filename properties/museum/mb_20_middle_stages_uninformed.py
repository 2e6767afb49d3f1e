"""MB-20: middle stages have no boundaries."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-20",
    area="metadata, pipeline",
    suffered="layers of middle stages attended across documents; benchmarks dropped by 10 to 20 points",
    source="Megatron-Bridge issue #2952, #3926",
)
class MiddleStagesUninformed(ReferenceImplementation):
    """Stages between the first and the last get no boundaries."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        return replace(placed, params=None) if 0 < place.pipeline < grid.pipeline - 1 else placed
