"""X-BIN-2: zero lengths are left out."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-2",
    area="offline pack",
    suffered="documents of a single token were never seen",
    source="own mutation",
)
class ZerosDropped(ReferenceImplementation):
    """Zero lengths are left out."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        return super().assign_bins(lengths[lengths > 0], capacity, algorithm, seed)
