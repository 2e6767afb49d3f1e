"""SL-03: packs are filled up to the limit of one rank."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "SL-03",
    area="data-parallel balance",
    suffered="steps took as many times more micro batches as there were context ranks",
    source="slime #866",
)
class LimitOfOneRank(ReferenceImplementation):
    """Packs are filled up to the limit of one rank, though a CP group shares them; longer samples get a pack alone."""

    def balance(self, lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
        super().balance(lengths, limit, context, replicas)
        return super().balance(np.minimum(lengths, limit), limit, 1, replicas)
