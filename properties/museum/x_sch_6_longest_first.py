"""X-SCH-6: the longest come first."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SCH-6",
    area="data-parallel balance",
    suffered="samples were trained in another order than they were drawn",
    source="own mutation",
)
class LongestFirst(ReferenceImplementation):
    """Samples are sorted by length before they are packed."""

    def balance(self, lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
        order = np.argsort(-lengths, kind="stable")
        packs = super().balance(lengths[order], limit, context, replicas)
        return tuple(tuple(int(order[sample]) for sample in pack) for pack in packs)
