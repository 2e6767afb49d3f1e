"""TE-03: valid boundaries are divided by W."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-03",
    area="THD params / CP",
    suffered="ranks lost a key of most documents and read padding as keys",
    source="TransformerEngine #1012",
)
class BoundariesDivided(ReferenceImplementation):
    """Valid boundaries are divided by the number of ranks, as if every rank owned the same part of them."""

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        super().local_boundaries(layout, world, rank)
        return layout.valid // world
