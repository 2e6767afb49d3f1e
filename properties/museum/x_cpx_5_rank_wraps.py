"""X-CPX-5: ranks wrap around."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-5",
    area="CP slicing",
    suffered="a process outside of the group trained on the tokens of another",
    source="own mutation",
)
class RankWraps(ReferenceImplementation):
    """A rank that is out of range wraps around."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        return super().partition(layout, world, rank % world)
