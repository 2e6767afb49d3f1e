"""TE-06: positions do not restart."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from properties.segments import total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-06",
    area="position ids",
    suffered="causal masks that are built from positions were wrong",
    source="TransformerEngine #2523",
)
class PositionsOfTheStream(ReferenceImplementation):
    """Positions are those of the whole stream."""

    def position_ids(self, layout: Layout) -> IntArray:
        return np.arange(total_slots(layout))
