"""B22: padding is told to context ranks only."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "B22",
    area="metadata, tensor parallelism",
    suffered="tensor ranks disagreed about what is padding",
    source="Megatron-LM, read in its code",
)
class PaddingToldToContextRanks(ReferenceImplementation):
    """Other tensor ranks get the padded boundaries only where there is context parallelism."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        if grid.context > 1 or not place.tensor or placed.params is None:
            return placed
        return replace(placed, params=replace(placed.params, cu_seqlens_q_padded=None, cu_seqlens_kv_padded=None))
