"""B19: slots behind the last segment have no index."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import total_slots
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "B19",
    area="mamba seq_idx",
    suffered="padding behind the last document had no segment number",
    source="Megatron-LM 0.17.1, pretrain_mamba.py",
)
class TailWithoutIndex(ReferenceImplementation):
    """The index ends with the last segment, however many slots there are."""

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return super().sequence_index(layout, total)[: total_slots(layout)]
