"""X-STR-4: lengths are expanded from 1 on."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, IntArray, PackingStrategy
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-STR-4",
    area="offline pack",
    suffered="documents of a single token were lost",
    source="own mutation",
)
class ZeroLengthsSkipped(ReferenceImplementation):
    """Lengths are expanded from 1 on."""

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        if not counts[1:].any():
            return super().packing_strategy(counts, capacity, algorithm, seed)
        return super().packing_strategy(np.append(0, counts[1:]), capacity, algorithm, seed)
