"""TE-01: positions end with the valid tokens."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import position_of
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-01",
    area="position ids+RoPE",
    suffered="the last slots of the stream were not rotated",
    source="TransformerEngine #2077",
)
class PositionsTooShort(ReferenceImplementation):
    """Rotary positions follow valid boundaries, and so cover fewer slots than there are."""

    def position_ids(self, layout: Layout) -> IntArray:
        return position_of(Layout(layout.valid, layout.valid))
