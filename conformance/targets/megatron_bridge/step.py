"""In-batch packing: ``training/vlm_step.py``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance.targets.megatron_bridge.modules import bridge, flat_integers, to_tensor
from reference_impl.batches import Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.errors import Inexpressible


@dataclass(frozen=True)
class _Group:
    """A process group, of which the step asks only this."""

    members: int

    def size(self) -> int:
        return self.members

    def rank(self) -> int:
        return 0


def pack_in_batch(batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
    """``pack_batch_sequences``."""
    pack = bridge("training.vlm_step").pack_batch_sequences
    mask: dict[str, Any] = {}
    if batch.padding_mask is not None:
        if "padding_mask" not in inspect.signature(pack).parameters:
            raise Inexpressible("this release of Megatron Bridge tells padding by the pad id only")
        mask["padding_mask"] = _mask(batch)
    packed = pack(
        tokens=to_tensor(batch.tokens),
        labels=_tensor(batch.labels),
        loss_mask=_tensor(batch.loss_mask),
        attention_mask=None,
        position_ids=to_tensor(batch.position_ids),
        pad_token_id=pad_id,
        pad_to_multiple_of=multiple,
        **mask,
    )
    return _stream(*packed[:7])


def vlm_step(batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
    """``get_batch`` of the first and only pipeline stage, on a micro batch as a collator gives it."""
    micro_batch = {
        "tokens": to_tensor(batch.tokens),
        "labels": _tensor(batch.labels),
        "loss_mask": _tensor(batch.loss_mask),
        "position_ids": to_tensor(batch.position_ids),
        "attention_mask": None if batch.padding_mask is None else _mask(batch),
        "visual_inputs": None,
    }
    config = SimpleNamespace(
        dataset=SimpleNamespace(pack_sequences_in_batch=True),
        model=SimpleNamespace(
            seq_length=batch.tokens.shape[1],
            sequence_parallel=parallelism.sequence_parallel,
            pipeline_model_parallel_size=1,
            expert_model_parallel_size=1,
        ),
    )
    groups = SimpleNamespace(pp=_Group(1), cp=_Group(parallelism.context), tp=_Group(parallelism.tensor))
    packed = bridge("training.vlm_step").get_batch(iter([micro_batch]), config, False, pg_collection=groups)
    return _stream(*packed[:7])


def _mask(batch: PaddedBatch) -> Any:
    """The padding mask as collators give it: 1 for a real token."""
    return to_tensor(np.asarray(batch.padding_mask, dtype=np.int64))


def _tensor(array: Any) -> Any:
    return None if array is None else to_tensor(array)


def _stream(
    tokens: Any,
    labels: Any,
    loss_mask: Any,
    _attention_mask: Any,
    position_ids: Any,
    cu_seqlens: Any,
    max_seqlen: Any,
) -> ThdBatch:
    """The stream that a step returns. It has only one boundary array, that of slots."""
    boundaries = flat_integers(cu_seqlens)
    return ThdBatch(
        tokens=flat_integers(tokens),
        labels=None if labels is None else flat_integers(labels),
        loss_mask=None if loss_mask is None else loss_mask.numpy().reshape(-1).astype(np.float64),
        position_ids=flat_integers(position_ids),
        layout=Layout(valid=boundaries, padded=boundaries),
        max_seqlen=int(max_seqlen),
        raw={"cu_seqlens": cu_seqlens.numpy(), "max_seqlen": max_seqlen.numpy()},
    )
