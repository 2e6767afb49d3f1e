"""X-COL-15: with static boundaries the border in front of the tail is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-COL-15",
    area="cuda graph padding",
    suffered="the last document and the tail attended to each other",
    source="own mutation",
)
class TailBorderMissing(ReferenceImplementation):
    """With static boundaries the border in front of the tail is missing."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if not spec.static_boundaries:
            return batches
        return tuple(replace(batch, layout=_without_last_start(batch.layout)) for batch in batches)


def _without_last_start(layout: Layout) -> Layout:
    if len(layout.padded) < 3:
        return layout
    return Layout(np.delete(layout.valid, -2), np.delete(layout.padded, -2))
