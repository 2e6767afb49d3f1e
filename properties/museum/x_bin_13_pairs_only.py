"""X-BIN-13: longest pack first closes a pack that holds two documents."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-13",
    area="offline pack",
    suffered="short documents filled packs of their own",
    source="own mutation",
)
class PairsOnly(ReferenceImplementation):
    """Longest pack first closes a pack that holds two documents."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        if algorithm != Algorithm.LONGEST_PACK_FIRST:
            return bins
        return tuple(held[start : start + 2] for held in bins for start in range(0, len(held), 2))
