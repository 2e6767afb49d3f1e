"""ML-08: a negative tail is clamped."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-08",
    area="mamba seq_idx",
    suffered="a rank got segment numbers for more slots than it had",
    source="Megatron-LM #3564 (thd-and-context-parallel B30)",
)
class NegativeLengthsClamped(ReferenceImplementation):
    """A stream shorter than its segments is not noticed: the negative tail is clamped to nothing."""

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return super().sequence_index(layout, max(total, total_slots(layout)))
