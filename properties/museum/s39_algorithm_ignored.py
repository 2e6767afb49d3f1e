"""S39: every algorithm is taken for first fit."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "S39",
    area="offline pack",
    suffered="the named algorithm was not the one that packed",
    source="Megatron-Bridge create_packing_strategy (specification S39: its list of algorithms is never consulted)",
)
class AlgorithmIgnored(ReferenceImplementation):
    """Every algorithm is taken for first fit."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        return super().packing_strategy(counts, capacity, Algorithm.FIRST_FIT, seed)
