"""X-HST-5: documents at the limit are counted, and reported as skipped too."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Histogram, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-HST-5",
    area="packing stats",
    suffered="a warning about lost documents was raised for nothing",
    source="own mutation",
)
class SkippedAtTheLimit(ReferenceImplementation):
    """Documents at the limit are counted, and reported as skipped too."""

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        found = super().histogram(lengths, max_length)
        return replace(found, skipped=found.skipped + int((lengths == max_length).sum()))
