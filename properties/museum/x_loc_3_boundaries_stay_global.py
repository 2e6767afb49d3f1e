"""X-LOC-3: boundaries stay global."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOC-3",
    area="THD params / CP",
    suffered="kernels read behind the end of the local buffer",
    source="own mutation",
)
class BoundariesStayGlobal(ReferenceImplementation):
    """Local boundaries are the global ones."""

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        super().local_boundaries(layout, world, rank)
        return layout.valid
