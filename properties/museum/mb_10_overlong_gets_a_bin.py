"""MB-10: a length above the capacity opens a bin of its own."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-10",
    area="offline pack",
    suffered="a bin held more than a pack can, at 150 percent efficiency, until the next step died",
    source="Megatron-Bridge first_fit, open (specification S6)",
)
class OverlongGetsABin(ReferenceImplementation):
    """A length above the capacity opens a bin of its own."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        fits = lengths <= capacity
        bins = super().assign_bins(lengths[fits], capacity, algorithm, seed)
        return (*bins, *((length,) for length in lengths[~fits].tolist()))
