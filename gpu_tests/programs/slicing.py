"""Cutting one batch for CP ranks and putting it together again, over real ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from gpu_tests.cases import Case
from gpu_tests.parallel.cut import boundary_metadata
from gpu_tests.parallel.exchange import gather
from gpu_tests.programs import implementation_of
from gpu_tests.programs.tables import tables_of
from gpu_tests.ranks.fabric import Fabric
from properties.segments import is_padding, position_of
from reference_impl.batches import AnyArray, ThdBatch
from reference_impl.interface import Implementation

PER_SLOT = ("tokens", "labels", "loss_mask", "position_ids")
"""Arrays of a batch with one entry per slot."""

DOCUMENT = 1_000
"""Tokens are ``DOCUMENT * number of the document + offset``, so that a wrong slot shows whose it is."""


def slicing(fabric: Fabric, target: str, case: Case) -> dict[str, Any]:
    """Cut the batch, exchange the parts, gather them.

    Returns:
        ``whole`` and ``local`` arrays per slot by name; ``metadata`` as a kernel gets it; ``tables`` of this rank;
        ``gathered`` arrays from the parts that the ranks really sent.
    """
    implementation = implementation_of(target)
    world, rank = fabric.context.size, fabric.context.rank
    batch = tagged_batch(case)
    local, metadata = fabric.agree(lambda: _cut(implementation, batch, world, rank))
    received = _all_parts(fabric, local)
    return {
        "whole": _per_slot(batch),
        "local": _per_slot(local),
        "metadata": metadata,
        "tables": fabric.agree(lambda: tables_of(implementation, batch.layout, world, rank)),
        "gathered": _per_slot(fabric.agree(lambda: implementation.gather(received))),
    }


def tagged_batch(case: Case) -> ThdBatch:
    """A batch on the stream of a case whose tokens say which document and offset they are."""
    layout = case.layout
    slots = np.diff(layout.padded)
    padding = is_padding(layout)
    tokens = np.where(padding, 0, DOCUMENT * np.repeat(np.arange(1, slots.size + 1), slots) + position_of(layout))
    labels = np.where(padding, -100, tokens + 1)
    weights = np.where(padding, 0.0, 1.0 + (tokens % 3))
    return ThdBatch(
        tokens=tokens.astype(np.int64),
        labels=labels.astype(np.int64),
        loss_mask=weights.astype(np.float64),
        position_ids=position_of(layout).astype(np.int64),
        layout=layout,
        max_seqlen=int(slots.max(initial=0)),
        raw={"cu_seqlens": layout.padded.astype(np.int32)},
    )


def _cut(implementation: Implementation, batch: ThdBatch, world: int, rank: int) -> tuple[ThdBatch, dict[str, Tensor]]:
    local = implementation.slice_batch(batch, world, rank)
    sizes = {name: array.shape for name, array in arrays_of(local).items()}
    if set(sizes.values()) != {(batch.tokens.size // world,)}:
        raise ValueError(f"rank {rank} holds {sizes} of {batch.tokens.size} slots")
    middle_stage = implementation.slice_batch(replace(batch, labels=None, loss_mask=None), world, rank)
    if middle_stage.labels is not None or not np.array_equal(middle_stage.tokens, local.tokens):
        raise ValueError("without labels, as on a middle pipeline stage, the rank holds something else")
    params = implementation.sequence_params(boundary_metadata(local.layout))
    metadata: dict[str, AnyArray | None] = {
        "valid boundaries": local.layout.valid,
        "slot boundaries": local.layout.padded,
        "cu_seqlens_q": params.cu_seqlens_q,
        "cu_seqlens_kv": params.cu_seqlens_kv,
        "cu_seqlens_q_padded": params.cu_seqlens_q_padded,
        "cu_seqlens_kv_padded": params.cu_seqlens_kv_padded,
        "max_seqlen": np.array([local.max_seqlen]),
        "positions of tokens": np.asarray(implementation.position_ids(batch.layout))[~is_padding(batch.layout)],
        **{f"raw {name}": array for name, array in local.raw.items()},
    }
    return local, {name: torch.from_numpy(array.copy()) for name, array in metadata.items() if array is not None}


def arrays_of(batch: ThdBatch) -> dict[str, AnyArray]:
    """Arrays of a batch with one entry per slot, by name."""
    found = {name: getattr(batch, name) for name in PER_SLOT}
    return {name: array for name, array in found.items() if array is not None}


def _per_slot(batch: ThdBatch) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays_of(batch).items()}


def _all_parts(fabric: Fabric, local: ThdBatch) -> list[ThdBatch]:
    """The parts of all CP ranks, their slots sent as tensors, the rest as objects."""
    group = fabric.context
    gathered = {
        name: gather(values.to(fabric.device), group).cpu().chunk(group.size)
        for name, values in _per_slot(local).items()
    }
    parts: list[Any] = [None] * group.size
    dist.all_gather_object(parts, local, group=group.handle)
    return [
        ThdBatch(
            **{name: chunks[rank].numpy() for name, chunks in gathered.items()},
            layout=part.layout,
            max_seqlen=part.max_seqlen,
            raw=part.raw,
        )
        for rank, part in enumerate(parts)
    ]
