"""X-MRG-1: only slot boundaries are merged."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MRG-1",
    area="metadata (MBS>1)",
    suffered="padding of one row passed for tokens",
    source="own mutation",
)
class PaddingForgotten(ReferenceImplementation):
    """Only slot boundaries are merged; they stand for the valid ones, too."""

    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        merged = super().merge_layouts(layouts)
        return Layout(merged.padded, merged.padded)
