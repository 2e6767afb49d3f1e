"""X-HST-4: counts reach to the longest document only, and of no document there is none."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Histogram, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-HST-4",
    area="offline pack",
    suffered="an empty split ended the preparation",
    source="own mutation",
)
class CountsOfNothing(ReferenceImplementation):
    """Counts reach to the longest document only, and of no document there is none."""

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        found = super().histogram(lengths, max_length)
        return found if len(lengths) else replace(found, counts=found.counts[:0])
