"""X-BIN-9: where nothing fits, every length gets a bin of its own."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-9",
    area="offline pack",
    suffered="a mistyped pack size packed every document alone, without a word",
    source="own mutation",
)
class CapacityUnchecked(ReferenceImplementation):
    """Where nothing fits, every length gets a bin of its own."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        if capacity < 1:
            return tuple((length,) for length in lengths.tolist())
        return super().assign_bins(lengths, capacity, algorithm, seed)
