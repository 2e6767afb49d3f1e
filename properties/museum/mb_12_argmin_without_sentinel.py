"""MB-12: without a sentinel, the smallest boundary is the leading zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import AnyArray, BoundaryMetadata, SequenceParams
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-12",
    area="metadata / THD params",
    suffered="attention saw no boundary at all, and documents of a pack attended to each other",
    source="Megatron-Bridge #2246, #4400",
)
class ArgminWithoutSentinel(ReferenceImplementation):
    """Boundaries without an argmin are cut at their smallest entry: without a sentinel, that is the leading zero."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        slots = _cut(metadata.cu_seqlens, metadata.argmin)
        if metadata.cu_seqlens_unpadded is None:
            return replace(params, cu_seqlens_q=slots, cu_seqlens_kv=slots)
        valid = _cut(metadata.cu_seqlens_unpadded, metadata.unpadded_argmin)
        params = replace(params, cu_seqlens_q=valid, cu_seqlens_kv=valid)
        if params.cu_seqlens_q_padded is None:
            return params
        return replace(params, cu_seqlens_q_padded=slots, cu_seqlens_kv_padded=slots)


def _cut(boundaries: AnyArray, argmin: int | None) -> AnyArray:
    flat = boundaries.reshape(-1)
    return flat[: int(np.argmin(flat)) if argmin is None else argmin]
