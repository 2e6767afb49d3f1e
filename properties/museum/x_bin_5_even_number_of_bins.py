"""X-BIN-5: an empty bin makes the number of bins divisible by the number of ranks."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-5",
    area="offline pack (bin count)",
    suffered="ranks trained on rows without a document",
    source="own mutation",
)
class EvenNumberOfBins(ReferenceImplementation):
    """An empty bin makes the number of bins divisible by the number of ranks."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        return (*bins, ()) if len(bins) % 2 else bins
