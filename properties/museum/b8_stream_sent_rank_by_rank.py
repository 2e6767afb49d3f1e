"""B8: the all-to-all assumes one document."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import layout_of, total_slots
from reference_impl.batches import Layout
from reference_impl.ranks import RankOrder
from reference_impl.reference import ReferenceImplementation


@bug(
    "B8",
    area="CP slicing",
    suffered="recurrent layers undid another cut than the one that was made",
    source="Megatron-LM issue #6156",
)
class StreamSentRankByRank(ReferenceImplementation):
    """The all-to-all assumes that the stream was cut as one document."""

    def all_to_all_order(self, layout: Layout, world: int) -> RankOrder:
        right = super().all_to_all_order(layout, world)
        return super().all_to_all_order(layout_of([total_slots(layout)]), world) if world > 1 else right
