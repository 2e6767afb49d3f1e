"""X-INB-9: raw boundaries are 64-bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-9",
    area="in-batch",
    suffered="kernels refused 64-bit boundaries",
    source="own mutation",
)
class Raw64Bit(ReferenceImplementation):
    """Boundaries go to the kernel with 64 bits."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, raw={name: array.astype(np.int64) for name, array in packed.raw.items()})
