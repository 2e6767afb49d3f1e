"""AM-02: all slots have one index."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "AM-02",
    area="model opt-out (linear attention)",
    suffered="state of recurrent layers flowed from one document into the next",
    source="NeMo Automodel #2147, slime #1686, axolotl #3437",
)
class StateNeverReset(ReferenceImplementation):
    """Recurrent layers are not told of segments: all slots have one index."""

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return np.zeros_like(super().sequence_index(layout, total))
