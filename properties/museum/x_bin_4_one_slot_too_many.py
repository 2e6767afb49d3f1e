"""X-BIN-4: a bin is closed when it exceeds the capacity, not before."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-4",
    area="offline pack",
    suffered="rows were one slot wider than the buffers",
    source="own mutation",
)
class OneSlotTooMany(ReferenceImplementation):
    """A bin is closed when it exceeds the capacity, not before."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        super().assign_bins(lengths, capacity, algorithm, seed)
        return super().assign_bins(lengths, capacity + 1, algorithm, seed)
