"""ML-21: boundaries arrive in another shape."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-21",
    area="metadata, tensor parallelism",
    suffered="tensor ranks ran on boundaries of another shape",
    source="Megatron-LM #5635",
)
class ReceivedInAnotherShape(ReferenceImplementation):
    """Tensor ranks that receive boundaries allocate them as one row."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        if not place.tensor or placed.params is None:
            return placed
        return replace(placed, params=replace(placed.params, cu_seqlens_q=placed.params.cu_seqlens_q[None, :]))
