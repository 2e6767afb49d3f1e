"""B19-stages: only stages with tokens have seq_idx."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "B19-stages",
    area="mamba seq_idx",
    suffered="recurrent layers of middle stages carried state across documents",
    source="Megatron-LM, read in its code",
)
class IndexWhereTokensAre(ReferenceImplementation):
    """The slots of the stream are counted by its tokens or labels, which middle stages do not have."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        if placed.tokens is not None or placed.labels is not None or placed.params is None:
            return placed
        return replace(placed, params=replace(placed.params, seq_idx=None))
