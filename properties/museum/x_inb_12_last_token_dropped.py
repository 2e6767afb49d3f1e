"""X-INB-12: the last token of a row is dropped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import real_tokens
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-12",
    area="in-batch",
    suffered="the last token of every document was lost",
    source="own mutation",
)
class LastTokenDropped(ReferenceImplementation):
    """Rows lose their last real token, as if their labels had not been shifted yet."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        real = real_tokens(batch, pad_id)
        last = np.cumsum(real, axis=1) == real.sum(axis=1, keepdims=True)
        return super().pack_in_batch(replace(batch, padding_mask=real & ~last), multiple, pad_id)
