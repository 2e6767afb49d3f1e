"""MB-35-axes: only the first document has axes."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import segment_of
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-35-axes",
    area="position ids and RoPE",
    suffered="multi-axis positions did not restart, or were those of the first document only",
    source="Megatron-Bridge #4532",
)
class AxesOfTheFirstDocument(ReferenceImplementation):
    """Only the first document of a pack has positions; those of all others are 0."""

    def rotary_axes(self, positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
        first = np.where(segment_of(layout) == 0, positions[:, : layout.padded[-1]], 0)
        return super().rotary_axes(first, layout, world, rank)
