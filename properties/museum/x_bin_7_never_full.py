"""X-BIN-7: a length goes into a bin only if a slot stays free."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-7",
    area="offline pack",
    suffered="documents that just fitted opened new bins",
    source="own mutation",
)
class NeverFull(ReferenceImplementation):
    """A length goes into a bin only if a slot stays free."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        super().assign_bins(lengths, capacity, algorithm, seed)
        whole = tuple((length,) for length in lengths.tolist() if length == capacity)
        return (*super().assign_bins(lengths[lengths < capacity], max(capacity - 1, 1), algorithm, seed), *whole)
