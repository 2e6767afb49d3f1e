"""X-LAY-6: boundaries are ends."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LAY-6",
    area="padding",
    suffered="every document was read from the start of the next",
    source="own mutation",
)
class EndsWithoutZero(ReferenceImplementation):
    """Slot boundaries are the ends of the segments, without the leading 0."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        exact = super().pad_layout(lengths, multiple)
        return Layout(exact.valid, exact.padded[1:])
