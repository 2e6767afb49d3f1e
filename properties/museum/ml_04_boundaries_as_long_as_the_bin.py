"""ML-04: static boundary arrays have as many entries as the row has slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import AnyArray, CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-04",
    area="cuda graph padding",
    suffered="thousands of empty segments cost kernel time in every step",
    source="Megatron-LM #2743, #2909",
)
class BoundariesAsLongAsTheBin(ReferenceImplementation):
    """Static boundary arrays have as many entries as the row has slots."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if not spec.static_boundaries:
            return batches
        return tuple(replace(batch, raw=_long(batch, spec.width)) for batch in batches)


def _long(batch: ThdBatch, entries: int) -> dict[str, AnyArray]:
    return {
        name: np.pad(array, (0, max(0, entries - array.size)), mode="edge") if array.size > 1 else array
        for name, array in batch.raw.items()
    }
