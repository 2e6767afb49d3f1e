"""S20: without answer-only loss every slot that is not EOS is trained on, padding included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "S20",
    area="loss mask",
    suffered="documents padded with another id than EOS were trained on their padding",
    source="Megatron-Bridge collate_fn up to 0.6.0 (specification S20)",
)
class PaddingToldByEos(ReferenceImplementation):
    """Without answer-only loss every slot that is not EOS is trained on, padding included."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if spec.answer_only_loss:
            return batches
        return tuple(
            replace(batch, loss_mask=(batch.tokens != spec.eos_id).astype(np.float64)) if index >= 0 else batch
            for index, batch in zip(indices, batches, strict=True)
        )
