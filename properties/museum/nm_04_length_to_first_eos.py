"""NM-04: the valid length of a document reaches to its first EOS; one at the first slot is not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "NM-04",
    area="metadata / loss mask",
    suffered="the loss of a packed document was half as high again as that of the same one alone",
    source="NeMo #14437",
)
class LengthToFirstEos(ReferenceImplementation):
    """The valid length of a document reaches to its first EOS; one at the first slot is not seen."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        if (spec.document_multiple or 1) == 1:
            return batches
        return tuple(replace(batch, layout=_to_first_eos(batch, spec.eos_id)) for batch in batches)


def _to_first_eos(batch: ThdBatch, eos_id: int) -> Layout:
    lengths = [0]
    for segment in np.split(batch.tokens, batch.layout.padded[1:-1]):
        eos = np.flatnonzero(segment == eos_id)
        lengths.append(int(eos[0]) if len(eos) and eos[0] else len(segment))
    return Layout(np.cumsum(lengths), batch.layout.padded)
