"""X-BIN-8: the seed does not reach the shuffle."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-8",
    area="offline pack / determinism",
    suffered="every seed gave the same packs",
    source="own mutation",
)
class ConstantShuffle(ReferenceImplementation):
    """The seed does not reach the shuffle."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        return super().assign_bins(lengths, capacity, algorithm, 0)
