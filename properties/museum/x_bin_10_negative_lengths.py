"""X-BIN-10: a negative length frees slots of the first bin."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-10",
    area="offline pack",
    suffered="a document without a token made room for more than a pack can hold",
    source="own mutation",
)
class NegativeLengths(ReferenceImplementation):
    """A negative length frees slots of the first bin."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths[lengths >= 0], capacity, algorithm, seed)
        negative = tuple(lengths[lengths < 0].tolist())
        return ((*bins[0], *negative), *bins[1:]) if bins and negative else bins
