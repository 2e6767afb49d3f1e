"""X-THD-3: the segment index is 64-bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-THD-3",
    area="mamba seq_idx",
    suffered="the state-space kernel refused the segment index",
    source="own mutation",
)
class WideSeqIdx(ReferenceImplementation):
    """The segment index keeps the 64 bits in which it was computed."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        return replace(params, seq_idx=None if params.seq_idx is None else params.seq_idx.astype(np.int64))
