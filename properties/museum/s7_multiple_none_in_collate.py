"""S7-collate: a missing document multiple is compared with a number."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "S7-collate",
    area="dataset+collate",
    suffered="a document multiple of None, allowed by its type, ended training with a TypeError",
    source="Megatron-Bridge collate_fn, all versions (specification S7)",
)
class MultipleNoneInCollate(ReferenceImplementation):
    """A missing document multiple is compared with a number."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        if spec.document_multiple is None:
            raise TypeError("'>' not supported between instances of 'NoneType' and 'int'")
        return super().collate(rows, indices, spec)
