"""X-CPX-7: a stream without slots is refused."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-CPX-7",
    area="CP slicing",
    suffered="a micro batch without content ended the run",
    source="TransformerEngine, thd_get_partitioned_indices (total_tokens > 0)",
)
class EmptyStreamRefused(ReferenceImplementation):
    """A stream without slots is refused."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        if not total_slots(layout):
            raise PackingError("total_tokens", 0, "must be positive")
        return super().partition(layout, world, rank)
