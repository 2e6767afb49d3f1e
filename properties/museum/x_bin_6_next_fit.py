"""X-BIN-6: only the bin that was opened last is looked at."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-6",
    area="offline pack",
    suffered="bins stayed half empty",
    source="own mutation",
)
class NextFit(ReferenceImplementation):
    """Only the bin that was opened last is looked at."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        super().assign_bins(lengths, capacity, algorithm, seed)
        bins: list[tuple[int, ...]] = []
        for length in lengths.tolist():
            if bins and sum(bins[-1]) + length <= capacity:
                bins[-1] = (*bins[-1], length)
            else:
                bins.append((length,))
        return tuple(bins)
