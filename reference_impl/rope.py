"""Rotary embeddings of a packed stream: which row of the table rotates which slot of a rank.

Two segments of 8 and 4 slots, W = 2, rank 0:

    slot               0 1 6 7 | 8 11
    restart            0 1 6 7 | 0  3      the table has one row per position of the longest segment
    stream             0 1 6 7 | 8 11      the table has one row per slot of the stream

Both give plain rotary attention the same scores, because only distances inside a segment matter. Boundaries are those
of slots: by valid lengths, every segment behind the first padding would be rotated to the place of another
(TransformerEngine PR #2077).
"""

from __future__ import annotations

from reference_impl.batches import Layout
from reference_impl.context_parallel import Partition, partition
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.ranks import RotaryMode
from reference_impl.thd import check_layout, position_ids


def rotary_rows(layout: Layout, world: int, rank: int, mode: RotaryMode, partition: Partition = partition) -> IntArray:
    """Row of the rotary table for each slot of a rank (T / W,) int64.

    Args:
        layout: boundaries of the whole stream.
        world: CP size.
        rank: CP rank.
        mode: what the table has rows for.
        partition: the operation of this name.

    Raises:
        PackingError: as ``partition``.
    """
    slots = partition(layout, world, rank)
    return slots if mode == RotaryMode.STREAM else position_ids(layout)[slots]


def rotary_axes(
    positions: IntArray, layout: Layout, world: int, rank: int, partition: Partition = partition
) -> IntArray:
    """Positions of a rank's slots on every axis (A, T / W) int64, for multi-axis rotary embeddings.

    Args:
        positions: (A, T) positions of all slots on A axes (time, height, width).
        layout: boundaries of the whole stream.
        world: CP size.
        rank: CP rank.
        partition: the operation of this name.

    Raises:
        PackingError: as ``partition``, or ``positions`` does not have one column per slot.
    """
    total = int(check_layout(layout).padded[-1])
    if positions.ndim != 2 or positions.shape[1] != total:
        raise PackingError("positions", positions.shape, f"must have two axes, the second of {total} slots")
    return positions[:, partition(layout, world, rank)]
