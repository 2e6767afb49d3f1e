"""ML-24: only the first tensor rank has boundaries."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-24",
    area="metadata, tensor parallelism",
    suffered="tensor ranks fell back to shapes of unpacked batches",
    source="Megatron-LM #3268, issue #4092",
)
class OnlyTheFirstTensorRank(ReferenceImplementation):
    """Boundaries reach only the first tensor rank of a stage."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        return replace(placed, params=None) if place.tensor else placed
