"""X-HST-3: length zero is taken for no document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Histogram, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-HST-3",
    area="offline pack",
    suffered="documents of a single token were lost",
    source="own mutation",
)
class ZerosIgnored(ReferenceImplementation):
    """Length zero is taken for no document."""

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        found = super().histogram(lengths, max_length)
        return replace(found, counts=np.where(np.arange(len(found.counts)) > 0, found.counts, 0))
