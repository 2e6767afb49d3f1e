"""VL-04: lengths are overwritten by the work that they mean for attention."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "VL-04",
    area="packing stats",
    suffered="the logged lengths were those of no batch",
    source="verl #4129",
)
class WorkloadForLength(ReferenceImplementation):
    """The lengths of bins are overwritten by the work of attention, which grows with their square."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        strategy = super().packing_strategy(counts, capacity, algorithm, seed)
        shortest = min(sum(length * length for length in lengths) for lengths in strategy.bins)
        return replace(strategy, metadata=replace(strategy.metadata, min_packed_seqlen=shortest))
