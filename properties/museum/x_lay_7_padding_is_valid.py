"""X-LAY-7: valid boundaries count padding."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LAY-7",
    area="padding",
    suffered="padding was attended to and counted as tokens",
    source="own mutation",
)
class PaddingIsValid(ReferenceImplementation):
    """Valid boundaries count the slots of each segment."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        exact = super().pad_layout(lengths, multiple)
        return Layout(exact.padded, exact.padded)
