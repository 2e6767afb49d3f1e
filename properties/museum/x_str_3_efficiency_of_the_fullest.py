"""X-STR-3: the packing efficiency is that of the fullest bin."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STR-3",
    area="packing stats",
    suffered="a bad choice of capacity looked good",
    source="own mutation",
)
class EfficiencyOfTheFullest(ReferenceImplementation):
    """The packing efficiency is that of the fullest bin."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        strategy = super().packing_strategy(counts, capacity, algorithm, seed)
        fullest = max(sum(lengths) for lengths in strategy.bins)
        efficiency = round(100 * fullest / capacity, 2)
        return replace(strategy, metadata=replace(strategy.metadata, packing_efficiency=efficiency))
