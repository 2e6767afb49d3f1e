"""ML-28: boundaries are attached only where packing happens online; a row packed offline is one segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-28",
    area="dataset+collate",
    suffered="documents that were packed offline attended to each other",
    source="Megatron-LM MR !2777",
)
class BoundariesByFlag(ReferenceImplementation):
    """Boundaries are attached only where packing happens online; a row packed offline is one segment."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, layout=_one_segment(len(batch.tokens))) for batch in batches)


def _one_segment(slots: int) -> Layout:
    return Layout(np.asarray([0, slots]), np.asarray([0, slots]))
