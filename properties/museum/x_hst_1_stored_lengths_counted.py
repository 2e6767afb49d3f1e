"""X-HST-1: stored tokens are counted, not runtime slots."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Histogram, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-HST-1",
    area="offline pack",
    suffered="packs were planned one slot too wide for each document",
    source="own mutation",
)
class StoredLengthsCounted(ReferenceImplementation):
    """Stored tokens are counted, not runtime slots."""

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        return super().histogram(np.where(lengths >= 0, np.minimum(lengths + 1, max_length), lengths), max_length)
