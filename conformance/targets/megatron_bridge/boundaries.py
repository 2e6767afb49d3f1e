"""Boundaries on their way to a kernel: ``get_packed_seq_params`` and Core's ``PackedSeqParams``."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.targets.modules import bridge, core, flat_integers, to_tensor, torch
from reference_impl.batches import AnyArray, BoundaryMetadata, Layout, SequenceParams
from reference_impl.documents import IntArray
from reference_impl.errors import NotSupported

MODULE = "training.utils.packed_seq_utils"


def sequence_params(metadata: BoundaryMetadata) -> SequenceParams:
    """``get_packed_seq_params`` of a batch with these keys."""
    batch = _current(metadata) if _is_current(metadata) else _legacy(metadata)
    params = bridge(MODULE).get_packed_seq_params(batch)
    return SequenceParams(
        cu_seqlens_q=params.cu_seqlens_q.numpy(),
        cu_seqlens_kv=params.cu_seqlens_kv.numpy(),
        cu_seqlens_q_padded=_array(params.cu_seqlens_q_padded),
        cu_seqlens_kv_padded=_array(params.cu_seqlens_kv_padded),
        max_seqlen_q=_integer(params.max_seqlen_q),
        max_seqlen_kv=_integer(params.max_seqlen_kv),
        seq_idx=_one_dimension(_array(getattr(params, "seq_idx", None))),
        qkv_format=params.qkv_format,
    )


def _is_current(metadata: BoundaryMetadata) -> bool:
    """Whether a batch of 0.6 or later can hold this: it knows neither sentinels nor counts of true entries."""
    arrays = [metadata.cu_seqlens, metadata.cu_seqlens_unpadded]
    plain = all(array is None or bool((array >= 0).all()) for array in arrays)
    counted = metadata.argmin is not None or metadata.unpadded_argmin is not None
    return plain and not counted and hasattr(bridge(MODULE), "get_packed_seq_q_cu_seqlens")


def _current(metadata: BoundaryMetadata) -> dict[str, Any]:
    """The keys of a batch from 0.6 on: valid lengths, and slots beside them where something is padded."""
    slots = to_tensor(metadata.cu_seqlens)
    valid = slots if metadata.cu_seqlens_unpadded is None else to_tensor(metadata.cu_seqlens_unpadded)
    batch: dict[str, Any] = {"cu_seqlens_q": valid, "cu_seqlens_kv": valid}
    if metadata.cu_seqlens_unpadded is not None:
        batch |= {"cu_seqlens_q_padded": slots, "cu_seqlens_kv_padded": slots}
    if metadata.max_seqlen is not None:
        longest = torch().tensor([[metadata.max_seqlen]], dtype=torch().int32)
        batch |= {"max_seqlen_q": longest, "max_seqlen_kv": longest}
    if metadata.total_tokens is not None:
        batch["total_tokens"] = metadata.total_tokens
    return batch


def _legacy(metadata: BoundaryMetadata) -> dict[str, Any]:
    """The keys of a batch up to 0.5, which later releases still take."""
    batch: dict[str, Any] = {"cu_seqlens": to_tensor(metadata.cu_seqlens)}
    if metadata.cu_seqlens_unpadded is not None:
        batch["cu_seqlens_unpadded"] = to_tensor(metadata.cu_seqlens_unpadded)
    for key, argmin in (
        ("cu_seqlens_argmin", metadata.argmin),
        ("cu_seqlens_unpadded_argmin", metadata.unpadded_argmin),
    ):
        if argmin is not None:
            batch[key] = torch().tensor([[argmin]])
    if metadata.max_seqlen is not None:
        batch["max_seqlen"] = torch().tensor([[metadata.max_seqlen]], dtype=torch().int32)
    if metadata.total_tokens is not None:
        batch["total_tokens"] = metadata.total_tokens
    return batch


def sequence_index(layout: Layout, total: int) -> IntArray:
    """``seq_idx``, which Core's ``PackedSeqParams`` makes of boundaries and ``total_tokens``."""
    params_type = core("packed_seq_params").PackedSeqParams
    if "total_tokens" not in params_type.__dataclass_fields__:
        raise NotSupported("this release of Megatron-Core makes no seq_idx")
    valid = to_tensor(layout.valid.astype(np.int32))
    padded = to_tensor(layout.padded.astype(np.int32))
    params = params_type(
        qkv_format="thd",
        cu_seqlens_q=valid,
        cu_seqlens_kv=valid,
        cu_seqlens_q_padded=padded,
        cu_seqlens_kv_padded=padded,
        total_tokens=total,
    )
    return flat_integers(params.seq_idx)


def _array(tensor: Any) -> AnyArray | None:
    return None if tensor is None else tensor.numpy()


def _one_dimension(array: AnyArray | None) -> AnyArray | None:
    """Core gives ``seq_idx`` a batch dimension of 1."""
    return array[0] if array is not None and array.ndim == 2 and array.shape[0] == 1 else array


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)
