"""MB-09: counts are indexed with lengths that nobody compared with the limit."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Histogram, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-09",
    area="offline pack",
    suffered="one long document ended the preparation of a whole data set",
    source="Megatron-Bridge #4598",
)
class OverlongEndsTheCount(ReferenceImplementation):
    """Counts are indexed with lengths that nobody compared with the limit."""

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        counts = [0] * (max_length + 1)
        for length in lengths.tolist():
            counts[length] += 1
        return super().histogram(lengths, max_length)
