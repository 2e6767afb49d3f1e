"""X-THD-1: the longest segment is measured in valid tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-THD-1",
    area="THD params",
    suffered="rotary tables were shorter than the longest segment",
    source="own mutation",
)
class LongestValid(ReferenceImplementation):
    """The longest segment is worked out from valid lengths instead of being passed on."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        longest = int(np.diff(params.cu_seqlens_q).max(initial=0))
        return replace(params, max_seqlen_q=longest, max_seqlen_kv=longest)
