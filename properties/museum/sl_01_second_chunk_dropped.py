"""SL-01: only the first chunk is put back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import position_of, segment_of, slots_per_segment
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "SL-01",
    area="CP slicing (gather)",
    suffered="log-probabilities of the late half of each document were lost",
    source="slime e9e42e5e8",
)
class SecondChunkDropped(ReferenceImplementation):
    """Where a rank holds tokens in both of its chunks, only the first is put back."""

    def gather(self, parts: Sequence[ThdBatch]) -> ThdBatch:
        whole = super().gather(parts)
        lengths = slots_per_segment(whole.layout)[segment_of(whole.layout)]
        late = 2 * position_of(whole.layout) >= lengths
        return replace(whole, tokens=np.where(late & (len(parts) > 1), 0, whole.tokens))
