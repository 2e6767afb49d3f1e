"""RL-01: padded lengths are copied from the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import real_tokens
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "RL-01",
    area="padding / metadata",
    suffered="what stood behind a document was trained, or copying it failed",
    source="NeMo-RL #3182",
)
class PaddingCopiedFromRows(ReferenceImplementation):
    """As many tokens are copied from a row as its segment has slots, so that junk behind its end becomes content."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        tokens, labels = packed.tokens.copy(), None if packed.labels is None else packed.labels.copy()
        real = real_tokens(batch, pad_id)
        rows = np.flatnonzero(real.any(axis=1))
        for row, start, stop in zip(rows, packed.layout.padded, packed.layout.padded[1:], strict=False):
            first = int(real[row].argmax())
            copied = batch.tokens[row, first : first + stop - start]
            tokens[start : start + copied.size] = copied
            if labels is not None and batch.labels is not None:
                labels[start : start + copied.size] = batch.labels[row, first : first + stop - start]
        return replace(packed, tokens=tokens, labels=labels)
