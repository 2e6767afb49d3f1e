"""X-MTP-2: values cross documents."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import layout_of, total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.ranks import Borders
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MTP-2",
    area="MTP",
    suffered="the model learned to predict the next document",
    source="own mutation",
)
class DocumentsRunOn(ReferenceImplementation):
    """Values are shifted through the whole stream."""

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        super().roll(values, layout, world, depth, borders)
        whole = super().roll(values, layout_of([total_slots(layout)]), 1, depth, Borders.PADDED)[0]
        return tuple(whole[self.partition(layout, world, rank)] for rank in range(world))
