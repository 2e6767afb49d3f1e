"""Context parallelism: which slots of a packed stream each rank owns.

Every segment of P slots is cut into 2W chunks; rank r owns chunks r and 2W - 1 - r, so that all ranks do the same work
under causal attention. Two segments of 8 and 4 slots, W = 2:

    slot    0 1 2 3 4 5 6 7 | 8 9 10 11
    chunk   0 0 1 1 2 2 3 3 | 0 1  2  3
    rank    0 0 1 1 1 1 0 0 | 0 1  1  0

    rank 0 owns 0 1 6 7 8 11, rank 1 owns 2 3 4 5 9 10

Source: TransformerEngine ``thd_get_partitioned_indices`` on its valid domain. With one rank nothing is cut, and no
length needs to be divisible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.batches import Layout, ThdBatch
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.ranks import RankOrder
from reference_impl.thd import boundaries_of, check_layout

Partition = Callable[[Layout, int, int], IntArray]
"""The operation ``partition``: layout, world, rank to slots."""

SlotArray = IntArray | NDArray[np.float64]
"""An array with one entry per slot."""


def partition(layout: Layout, world: int, rank: int) -> IntArray:
    """Slots of CP rank ``rank``, ascending (T / world,) int64.

    With S the start of a segment, P its slots and c = P / 2W, the rank's j-th slot of the segment is
    ``S + j + c * (r if j < c else 2 * (W - 1) - r)``.

    Raises:
        PackingError: a segment's slots are not divisible by 2 * world, ``world`` is below 1, or ``rank`` is not from 0
            to ``world - 1``.
    """
    padded = _checked(layout, world, rank).padded
    if world == 1:
        return np.arange(padded[-1], dtype=np.int64)
    local_slots = np.diff(padded) // world
    chunk = np.repeat(local_slots // 2, local_slots)
    start = np.repeat(padded[:-1], local_slots)
    offset = np.arange(local_slots.sum(), dtype=np.int64) - np.repeat(padded[:-1] // world, local_slots)
    return start + offset + chunk * np.where(offset < chunk, rank, 2 * (world - 1) - rank)


def local_boundaries(layout: Layout, world: int, rank: int) -> IntArray:
    """Cumulative valid lengths of the segments on one rank (n + 1,) int64.

    With V valid tokens and c slots per chunk, a segment has ``clamp(V - r c, 0, c) + clamp(V - (2W - 1 - r) c, 0, c)``
    of them on rank r (TransformerEngine ``get_cu_seqlens_on_cp_rank``). Dividing V by W is wrong in general: padding
    sits at the end of a segment, and not every rank owns a part of it.

    Raises:
        PackingError: as ``partition``.
    """
    checked = _checked(layout, world, rank)
    if world == 1:
        return checked.valid
    valid = np.diff(checked.valid)
    chunk = np.diff(checked.padded) // (2 * world)
    first = np.clip(valid - rank * chunk, 0, chunk)
    second = np.clip(valid - (2 * world - 1 - rank) * chunk, 0, chunk)
    return boundaries_of(first + second)


def slice_batch(batch: ThdBatch, world: int, rank: int, partition: Partition = partition) -> ThdBatch:
    """The part of ``batch`` that belongs to one rank.

    Tokens, labels, loss mask and positions are cut by one common index; whatever describes the stream stays global.

    Args:
        batch: the whole stream.
        world: CP size.
        rank: CP rank.
        partition: the operation of this name.

    Raises:
        PackingError: as ``partition``, or an array does not have one entry per slot.
    """
    total = int(check_layout(batch.layout).padded[-1])
    for name, values in _slot_arrays(batch).items():
        if values.shape != (total,):
            raise PackingError(f"batch.{name}", values.shape, f"must have one entry for each of {total} slots")
    slots = partition(batch.layout, world, rank)
    return _with_slot_arrays(batch, {name: values[slots] for name, values in _slot_arrays(batch).items()})


def gather(parts: Sequence[ThdBatch], partition: Partition = partition) -> ThdBatch:
    """Inverse of ``slice_batch``.

    Args:
        parts: (W,) the parts of ranks 0..W - 1, in order.
        partition: the operation of this name.

    Raises:
        PackingError: there are no parts, they do not belong to one stream, or as ``partition``.
    """
    if not parts:
        raise PackingError("parts", parts, "must hold the part of at least one rank")
    whole = parts[0]
    total = int(check_layout(whole.layout).padded[-1])
    arrays = {name: np.zeros(total, dtype=values.dtype) for name, values in _slot_arrays(whole).items()}
    for rank, part in enumerate(parts):
        _check_same_stream(whole, part, rank)
        slots = partition(whole.layout, len(parts), rank)
        for name, values in _slot_arrays(part).items():
            if values.shape != slots.shape:
                raise PackingError(f"parts[{rank}].{name}", values.shape, f"must have {slots.size} slots")
            arrays[name][slots] = values
    return _with_slot_arrays(whole, arrays)


def all_to_all_order(layout: Layout, world: int, partition: Partition = partition) -> RankOrder:
    """The permutations between slots in stream order and slots rank by rank, as an all-to-all over heads needs them.

    Recurrent layers compute the whole stream on a share of the channels, so slots must be in order again.

    Args:
        layout: boundaries of the whole stream.
        world: CP size.
        partition: the operation of this name.

    Raises:
        PackingError: as ``partition``.
    """
    to_ranks = np.concatenate([partition(layout, world, rank) for rank in range(world)])
    return RankOrder(to_ranks=to_ranks, to_stream=np.argsort(to_ranks, kind="stable"))


def _checked(layout: Layout, world: int, rank: int) -> Layout:
    """The layout, after the checks that ``partition`` names."""
    checked = check_layout(layout)
    if world < 1:
        raise PackingError("world", world, "must be at least 1")
    if not 0 <= rank < world:
        raise PackingError("rank", rank, f"must be from 0 to {world - 1}")
    if world > 1 and np.any(np.diff(checked.padded) % (2 * world)):
        requirement = f"every segment's slots must be divisible by 2 * {world}"
        raise PackingError("layout.padded", checked.padded.tolist(), requirement)
    return checked


def _check_same_stream(whole: ThdBatch, part: ThdBatch, rank: int) -> None:
    """Raise unless two parts have equal boundaries and hold the same arrays."""
    same_boundaries = np.array_equal(part.layout.valid, whole.layout.valid) and np.array_equal(
        part.layout.padded, whole.layout.padded
    )
    if not same_boundaries or _slot_arrays(part).keys() != _slot_arrays(whole).keys():
        raise PackingError(f"parts[{rank}]", part, "must be a part of the same stream as parts[0]")


def _slot_arrays(batch: ThdBatch) -> dict[str, SlotArray]:
    """Arrays with one entry per slot that the batch holds, by field name."""
    arrays = {
        "tokens": batch.tokens,
        "labels": batch.labels,
        "loss_mask": batch.loss_mask,
        "position_ids": batch.position_ids,
    }
    return {name: values for name, values in arrays.items() if values is not None}


def _with_slot_arrays(batch: ThdBatch, arrays: Mapping[str, Any]) -> ThdBatch:
    """``batch`` with other arrays per slot."""
    return replace(batch, **arrays)
