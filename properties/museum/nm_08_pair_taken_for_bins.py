"""NM-08: the pair of bins and metadata is taken for the bins: its first part becomes one bin that holds all."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "NM-08",
    area="offline pack (script)",
    suffered="the old script could not fill the bins of the new strategy",
    source="NeMo #12486",
)
class PairTakenForBins(ReferenceImplementation):
    """The pair of bins and metadata is taken for the bins: its first part becomes one bin that holds all."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        strategy = super().packing_strategy(counts, capacity, algorithm, seed)
        return replace(strategy, bins=(tuple(length for lengths in strategy.bins for length in lengths),))
