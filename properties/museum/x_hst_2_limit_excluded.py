"""X-HST-2: a document exactly at the limit is skipped."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Histogram, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-HST-2",
    area="offline pack",
    suffered="the longest allowed documents were lost",
    source="own mutation",
)
class LimitExcluded(ReferenceImplementation):
    """A document exactly at the limit is skipped."""

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        return super().histogram(np.where(lengths == max_length, max_length + 1, lengths), max_length)
