"""X-INB-13: the boundaries that a batch carries are those of the valid lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-13",
    area="in-batch",
    suffered="the kernel cut the stream in other places than the documents end",
    source="own mutation",
)
class RawOfValidLengths(ReferenceImplementation):
    """The slot boundaries that a batch carries beside its layout are those of the valid lengths."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, raw={**packed.raw, "cu_seqlens": packed.layout.valid.astype(np.int32)})
