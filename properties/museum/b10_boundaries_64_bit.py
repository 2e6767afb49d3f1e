"""B10: sums of 32-bit lengths are 64-bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "B10",
    area="THD params",
    suffered="kernels refused 64-bit boundaries",
    source="TransformerEngine, pad_thd_sequences_for_cp",
)
class BoundariesOf64Bit(ReferenceImplementation):
    """A cumulative sum widens 32-bit boundaries to 64 bits."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        wide = params.cu_seqlens_q.astype(np.int64)
        return replace(params, cu_seqlens_q=wide, cu_seqlens_kv=wide)
