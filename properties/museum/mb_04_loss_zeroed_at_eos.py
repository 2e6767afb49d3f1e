"""MB-04: slots whose input equals EOS are not trained on, whatever the stored mask says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from properties.readings import weights_of
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-04",
    area="loss mask",
    suffered="the first token of every later turn silently lost its loss",
    source="Megatron-Bridge #5213",
)
class LossZeroedAtEos(ReferenceImplementation):
    """Slots whose input equals EOS are not trained on, whatever the stored mask says."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(replace(batch, loss_mask=weights_of(batch) * (batch.tokens != spec.eos_id)) for batch in batches)
