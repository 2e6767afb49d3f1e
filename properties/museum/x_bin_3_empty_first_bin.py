"""X-BIN-3: a bin is open before the first length comes."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-3",
    area="offline pack",
    suffered="an empty split became an empty row",
    source="own mutation",
)
class EmptyFirstBin(ReferenceImplementation):
    """A bin is open before the first length comes."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        return super().assign_bins(lengths, capacity, algorithm, seed) or ((),)
