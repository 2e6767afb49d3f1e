"""X-MRG-4: a row ends at its first repeated boundary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MRG-4",
    area="metadata (MBS>1)",
    suffered="documents behind one without tokens were fused",
    source="own mutation",
)
class CutAtTheFirstRepeat(ReferenceImplementation):
    """A row is taken to end where its boundary repeats, as if only filler could have no slot."""

    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        return super().merge_layouts([_before_the_first_repeat(layout) for layout in layouts])


def _before_the_first_repeat(layout: Layout) -> Layout:
    repeats = np.flatnonzero(slots_per_segment(layout) == 0)
    end = int(repeats[0]) + 1 if repeats.size else layout.padded.size
    return Layout(layout.valid[:end], layout.padded[:end])
