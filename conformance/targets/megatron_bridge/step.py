"""In-batch packing: in the VLM step up to Bridge 0.5, in the collator from 0.6 on."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance.targets.megatron_bridge import config
from conformance.targets.megatron_bridge.places import Part, packs_in_collator, part
from conformance.targets.modules import bridge, flat_integers, to_tensor
from reference_impl.batches import Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.config import TrainingConfig
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
    """The function that packs a micro batch."""
    if packs_in_collator():
        return _from_keys(_collated(batch, multiple, pad_id))
    pack = part(Part.IN_BATCH)
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
    settings = SimpleNamespace(
        dataset=SimpleNamespace(pack_sequences_in_batch=True, enable_in_batch_packing=True),
        model=SimpleNamespace(
            seq_length=batch.tokens.shape[1],
            sequence_parallel=parallelism.sequence_parallel,
            pipeline_model_parallel_size=1,
            expert_model_parallel_size=1,
        ),
    )
    groups = SimpleNamespace(pp=_Group(1), cp=_Group(parallelism.context), tp=_Group(parallelism.tensor))
    in_collator = packs_in_collator()
    micro_batch = _collated(batch, _multiple(parallelism), pad_id=0) if in_collator else _padded(batch)
    packed = bridge("training.vlm_step").get_batch(
        iter([micro_batch | {"visual_inputs": None}]), settings, False, pg_collection=groups
    )
    if in_collator:
        names = ("tokens", "labels", "loss_mask", "attention_mask", "position_ids")
        return _from_keys(dict(zip(names, packed[:5], strict=True)) | packed[5])
    return _stream(*packed[:7])


def _padded(batch: PaddedBatch) -> dict[str, Any]:
    """A micro batch as a collator makes it."""
    return {
        "tokens": to_tensor(batch.tokens),
        "labels": _tensor(batch.labels),
        "loss_mask": _tensor(batch.loss_mask),
        "position_ids": to_tensor(batch.position_ids),
        "attention_mask": None if batch.padding_mask is None else _mask(batch),
    }


def _collated(batch: PaddedBatch, multiple: int, pad_id: int) -> dict[str, Any]:
    """A micro batch that the collator has packed."""
    micro_batch = _padded(batch)
    part(Part.IN_BATCH)(
        micro_batch,
        sequence_length=batch.tokens.shape[1],
        enable_in_batch_packing=True,
        in_batch_packing_pad_to_multiple_of=multiple,
        pad_token_id=pad_id,
    )
    return micro_batch


@functools.cache
def _multiple(parallelism: Parallelism) -> int:
    """The multiple that the validation of a configuration of this size gives the collator."""
    length = 2 * parallelism.context * parallelism.tensor * math.lcm(*range(1, 5))
    settings = TrainingConfig(
        model_seq_length=length,
        dataset_seq_length=length,
        micro_batch_size=2,
        context_parallel_size=parallelism.context,
        tensor_parallel_size=parallelism.tensor,
        sequence_parallel=parallelism.sequence_parallel,
        calculate_per_token_loss=True,
        average_in_collective=False,
        pack_sequences_in_batch=True,
    )
    return int(config.validated(settings).dataset.in_batch_packing_pad_to_multiple_of)


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


def _from_keys(batch: Mapping[str, Any]) -> ThdBatch:
    """The stream in a batch of 0.6 or later; slots are named apart only where something may be padded."""
    valid = flat_integers(batch["cu_seqlens_q"])
    slots = batch.get("cu_seqlens_q_padded")
    return ThdBatch(
        tokens=flat_integers(batch["tokens"]),
        labels=None if batch["labels"] is None else flat_integers(batch["labels"]),
        loss_mask=None if batch["loss_mask"] is None else batch["loss_mask"].numpy().reshape(-1).astype(np.float64),
        position_ids=flat_integers(batch["position_ids"]),
        layout=Layout(valid=valid, padded=valid if slots is None else flat_integers(slots)),
        max_seqlen=int(batch["max_seqlen_q"]),
        raw={
            name: value.numpy()
            for name, value in batch.items()
            if name.startswith(("cu_seqlens", "max_seqlen")) and value is not None
        },
    )
