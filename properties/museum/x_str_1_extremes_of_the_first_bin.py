"""X-STR-1: the most documents of a bin and the smallest load are those of the first bin."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STR-1",
    area="metadata",
    suffered="static boundary arrays were too short",
    source="own mutation",
)
class ExtremesOfTheFirstBin(ReferenceImplementation):
    """The most documents of a bin and the smallest load are those of the first bin."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        strategy = super().packing_strategy(counts, capacity, algorithm, seed)
        first = strategy.bins[0]
        metadata = replace(strategy.metadata, max_samples_per_bin=len(first), min_packed_seqlen=sum(first))
        return replace(strategy, metadata=metadata)
