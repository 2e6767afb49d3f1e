"""MB-24: with an epoch mapping a negative index is mapped to a row before its sign is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-24",
    area="dataset+collate",
    suffered="rows that filled up the last batch were trained on twice",
    source="Megatron-Bridge #4675 (specification S3)",
)
class FillerMappedFirst(ReferenceImplementation):
    """With an epoch mapping a negative index is mapped to a row before its sign is looked at."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        if spec.n_samples is None:
            return super().collate(rows, indices, spec)
        order = self.epoch_order(len(rows), spec.n_samples, spec.seed)
        return super().collate(rows, [int(order[index]) for index in indices], replace(spec, n_samples=None))
