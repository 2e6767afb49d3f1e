"""S36: the mean of no bins is computed."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "S36",
    area="offline pack",
    suffered="an empty split ended the preparation with a ZeroDivisionError",
    source="Megatron-Bridge create_packing_strategy, all versions (specification S36)",
)
class NoDocumentDividesByZero(ReferenceImplementation):
    """The mean of no bins is computed."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        if not counts.any():
            raise ZeroDivisionError("division by zero")
        return super().packing_strategy(counts, capacity, algorithm, seed)
