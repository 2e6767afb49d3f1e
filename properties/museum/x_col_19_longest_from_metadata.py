"""X-COL-19: with static boundaries max_seqlen is the longest document of the data set, whatever the tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-19",
    area="cuda graph padding",
    suffered="kernels left the end of the tail out",
    source="own mutation",
)
class LongestFromMetadata(ReferenceImplementation):
    """With static boundaries max_seqlen is the longest document of the data set, whatever the tail."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if not spec.static_boundaries:
            return batches
        longest = max(entry.dataset_max_seqlen for entry in spec.metadata)
        return tuple(replace(batch, max_seqlen=longest) for batch in batches)
