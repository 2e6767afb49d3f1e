"""MB-37: static padding extends the boundaries of slots only, not those of valid tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import AnyArray, CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-37",
    area="cuda graph padding",
    suffered="kernels got boundaries of slots and of tokens that did not fit each other",
    source="Megatron-Bridge #5344 (specification S14)",
)
class ValidBoundariesNotExtended(ReferenceImplementation):
    """Static padding extends the boundaries of slots only, not those of valid tokens."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if not spec.static_boundaries:
            return batches
        return tuple(replace(batch, raw={**batch.raw, **_short(batch)}) for batch in batches)


def _short(batch: ThdBatch) -> dict[str, AnyArray]:
    name = "cu_seqlens_unpadded"
    return {name: batch.layout.valid.astype(np.int32)} if name in batch.raw else {}
