"""X-BIN-15: of packs that hold the same lengths, a histogram packer returns one."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-15",
    area="offline pack",
    suffered="most documents of the commonest lengths were never trained on",
    source="own mutation",
)
class RestOfAGroupLost(ReferenceImplementation):
    """Of packs that hold the same lengths, a histogram packer returns one."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        if algorithm in (Algorithm.SHORTEST_PACK_FIRST, Algorithm.LONGEST_PACK_FIRST):
            return tuple(dict.fromkeys(bins))
        return bins
