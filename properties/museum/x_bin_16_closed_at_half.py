"""X-BIN-16: a bin is closed as soon as it is half full."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-16",
    area="offline pack",
    suffered="a run took nearly twice the steps that its documents filled",
    source="own mutation",
)
class ClosedAtHalf(ReferenceImplementation):
    """A bin is closed as soon as it is half full."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        closed: list[list[int]] = []
        for held in bins:
            closed.append([])
            for length in held:
                if 2 * sum(closed[-1]) >= capacity:
                    closed.append([])
                closed[-1].append(length)
        return tuple(tuple(held) for held in closed)
