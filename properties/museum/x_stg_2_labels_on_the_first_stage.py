"""X-STG-2: labels are where tokens are."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STG-2",
    area="metadata, pipeline",
    suffered="the last stage had no labels",
    source="own mutation",
)
class LabelsOnTheFirstStage(ReferenceImplementation):
    """Labels and loss mask are sent where tokens are."""

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        placed = super().place_batch(batch, grid, place)
        first = super().place_batch(batch, replace(grid, pipeline=1), replace(place, pipeline=0))
        has_tokens = placed.tokens is not None
        return replace(
            placed,
            labels=first.labels if has_tokens else None,
            loss_mask=first.loss_mask if has_tokens else None,
        )
