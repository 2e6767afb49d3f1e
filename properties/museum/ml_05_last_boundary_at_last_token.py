"""ML-05: boundaries end at the last real token."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import is_padding
from reference_impl.batches import Layout, PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-05",
    area="metadata / tail padding",
    suffered="the padding of the last document belonged to no segment, and rotary tables did not fit",
    source="Megatron-LM #2883, reverted",
)
class LastBoundaryAtLastToken(ReferenceImplementation):
    """The last slot boundary is the end of the last real token, not of the stream."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        padded = packed.layout.padded.copy()
        padded[-1] -= np.count_nonzero(is_padding(packed.layout)[padded[-2] :]) if padded.size > 1 else 0
        return replace(packed, layout=Layout(packed.layout.valid, padded))
