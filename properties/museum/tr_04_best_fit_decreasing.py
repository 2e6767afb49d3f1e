"""TR-04: what is called first fit decreasing takes the fullest open bin that fits."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "TR-04",
    area="offline pack",
    suffered="packs differed from those of the named algorithm",
    source="TRL #3645, #3696",
)
class BestFitDecreasing(ReferenceImplementation):
    """What is called first fit decreasing takes the fullest open bin that fits."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        placed = super().assign_bins(lengths, capacity, algorithm, seed)
        if algorithm != Algorithm.FIRST_FIT_DECREASING:
            return placed
        bins: list[list[int]] = []
        for length in sorted(lengths.tolist(), reverse=True):
            fitting = [lengths_of_bin for lengths_of_bin in bins if sum(lengths_of_bin) + length <= capacity]
            if fitting:
                max(fitting, key=sum).append(length)
            else:
                bins.append([length])
        return tuple(tuple(lengths_of_bin) for lengths_of_bin in bins)
