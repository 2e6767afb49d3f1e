"""ML-09: values are shifted inside valid boundaries of a padded stream."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import owned_slots, total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import Borders
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-09",
    area="MTP",
    suffered="targets of prediction heads crossed documents, and others were lost",
    source="Megatron-LM #4495, #6205",
)
class RolledAtValidBorders(ReferenceImplementation):
    """Segments are cut at valid boundaries, though the stream is laid out by slots."""

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        right = super().roll(values, layout, world, depth, borders)
        if borders == Borders.PADDED and np.array_equal(layout.valid, layout.padded):
            return right
        rolled = values.copy()
        for start, end in zip(layout.valid[:-1], layout.valid[1:], strict=True):
            inside = values[start:end]
            rolled[start:end] = np.append(inside, [0] * depth)[depth : depth + inside.size]
        whole = np.arange(total_slots(layout))
        return tuple(rolled[owned_slots(layout, world, rank) if world > 1 else whole] for rank in range(world))
