"""X-LAY-4: a multiple below 1 counts as 1."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LAY-4",
    area="padding",
    suffered="a wrong multiple switched padding off without a word",
    source="Megatron-Bridge to 0.5.1, training/vlm_step.py",
)
class MultipleUnchecked(ReferenceImplementation):
    """A multiple below 1 is taken for 1."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        return super().pad_layout(lengths, max(multiple, 1))
