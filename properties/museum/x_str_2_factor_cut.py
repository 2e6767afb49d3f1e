"""X-STR-2: the packing factor is a whole number."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STR-2",
    area="packing stats",
    suffered="the number of training steps was planned wrongly",
    source="own mutation",
)
class FactorCut(ReferenceImplementation):
    """The packing factor is a whole number."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        strategy = super().packing_strategy(counts, capacity, algorithm, seed)
        factor = float(int(counts.sum()) // len(strategy.bins))
        return replace(strategy, metadata=replace(strategy.metadata, packing_factor=factor))
