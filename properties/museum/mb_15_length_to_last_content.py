"""MB-15: the valid length of a document reaches to its last token that is not EOS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-15",
    area="metadata",
    suffered="real targets at the end of a document lay outside of every segment that attention saw",
    source="Megatron-Bridge data/packing/gpt_sft.py, open (specification S21)",
)
class LengthToLastContent(ReferenceImplementation):
    """The valid length of a document reaches to its last token that is not EOS."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if (spec.document_multiple or 1) == 1:
            return batches
        return tuple(replace(batch, layout=_to_last_content(batch, spec.eos_id)) for batch in batches)


def _to_last_content(batch: ThdBatch, eos_id: int) -> Layout:
    lengths = [0]
    for segment in np.split(batch.tokens, batch.layout.padded[1:-1]):
        content = np.flatnonzero(segment != eos_id)
        lengths.append(int(content[-1]) + 1 if len(content) else 0)
    return Layout(np.cumsum(lengths), batch.layout.padded)
