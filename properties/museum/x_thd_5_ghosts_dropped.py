"""X-THD-5: repeated boundaries are dropped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-THD-5",
    area="metadata / cuda graph padding",
    suffered="arrays of a static shape lost entries, and a graph did not fit",
    source="own mutation",
)
class GhostsDropped(ReferenceImplementation):
    """Repeated valid boundaries, those of documents without tokens and of filler, are dropped."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        once = np.unique(params.cu_seqlens_q)
        return replace(params, cu_seqlens_q=once, cu_seqlens_kv=once)
