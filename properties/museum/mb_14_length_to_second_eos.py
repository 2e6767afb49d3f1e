"""MB-14: the valid length of a document reaches to its second EOS, taken for the first one of padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-14",
    area="metadata",
    suffered="attention saw multi-turn documents only up to the end of an early turn",
    source="Megatron-Bridge #1867",
)
class LengthToSecondEos(ReferenceImplementation):
    """The valid length of a document reaches to its second EOS, taken for the first one of padding."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if (spec.document_multiple or 1) == 1:
            return batches
        return tuple(replace(batch, layout=_to_second_eos(batch, spec.eos_id)) for batch in batches)


def _to_second_eos(batch: ThdBatch, eos_id: int) -> Layout:
    lengths = [0]
    for segment in np.split(batch.tokens, batch.layout.padded[1:-1]):
        eos = np.flatnonzero(segment == eos_id)
        lengths.append(int(eos[1]) + 1 if len(eos) > 1 else len(segment))
    return Layout(np.cumsum(lengths), batch.layout.padded)
