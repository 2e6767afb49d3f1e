"""X-LAY-1: aligned segments are padded too."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import cumulative
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LAY-1",
    area="padding",
    suffered="aligned documents got a whole multiple of padding",
    source="own mutation",
)
class OneMoreMultiple(ReferenceImplementation):
    """A segment that is aligned already gets one more multiple of padding."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        exact = super().pad_layout(lengths, multiple)
        return Layout(exact.valid, cumulative((lengths // multiple + 1) * multiple))
