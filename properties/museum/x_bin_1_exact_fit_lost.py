"""X-BIN-1: a length that fills a bin to the last slot is not put into it."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-1",
    area="offline pack",
    suffered="documents that just filled a bin were never trained on",
    source="own mutation",
)
class ExactFitLost(ReferenceImplementation):
    """A length that fills a bin to the last slot is not put into it."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        return tuple(found[:-1] if len(found) > 1 and sum(found) == capacity else found for found in bins)
