"""X-CPX-11: the way back is the way there."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import RankOrder
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-11",
    area="CP slicing",
    suffered="slots came back from recurrent layers in another order than they went",
    source="own mutation",
)
class OrderNotInverted(ReferenceImplementation):
    """The way back is the way there once more."""

    def all_to_all_order(self, layout: Layout, world: int) -> RankOrder:
        there = super().all_to_all_order(layout, world).to_ranks
        return RankOrder(to_ranks=there, to_stream=there)
