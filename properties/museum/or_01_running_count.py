"""OR-01: positions count real tokens over the pack."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import is_padding
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "OR-01",
    area="position ids / metadata",
    suffered="later documents were rotated as if they continued the first",
    source="OpenRLHF b2e226fb, 8bd96678",
)
class RunningCount(ReferenceImplementation):
    """Positions are a running count of the real tokens of the pack; padding has position 1."""

    def position_ids(self, layout: Layout) -> IntArray:
        real = ~is_padding(layout)
        return np.where(real, np.cumsum(real) - 1, 1)
