"""X-BIN-14: shortest pack first takes the fullest pack with room."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-14",
    area="offline pack",
    suffered="two papers' packers gave the same packs",
    source="own mutation",
)
class LongestInsteadOfShortest(ReferenceImplementation):
    """Shortest pack first takes the fullest pack with room."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        if algorithm == Algorithm.SHORTEST_PACK_FIRST:
            algorithm = Algorithm.LONGEST_PACK_FIRST
        return super().assign_bins(lengths, capacity, algorithm, seed)
