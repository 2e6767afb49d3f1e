"""S37: documents without a token are not counted as skipped."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Histogram, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "S37",
    area="offline pack",
    suffered="documents without a token vanished without a word",
    source="Megatron-Bridge create_hist, all versions (specification S37)",
)
class EmptyDocumentsVanish(ReferenceImplementation):
    """Documents without a token are not counted as skipped."""

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        found = super().histogram(lengths, max_length)
        return replace(found, skipped=found.skipped - int((lengths < 0).sum()))
