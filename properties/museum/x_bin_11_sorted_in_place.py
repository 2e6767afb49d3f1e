"""X-BIN-11: first fit decreasing sorts the caller's array."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-11",
    area="offline pack",
    suffered="lengths no longer belonged to their documents after packing",
    source="own mutation",
)
class SortedInPlace(ReferenceImplementation):
    """First fit decreasing sorts the caller's array."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        if algorithm == Algorithm.FIRST_FIT_DECREASING:
            lengths[::-1].sort()
        return super().assign_bins(lengths, capacity, algorithm, seed)
