"""Multi-token prediction: values shifted to the left inside each segment.

A segment of 4 slots with 3 valid tokens, then a full one of 4, depth 1:

    slot           0 1 2 3 | 4 5 6 7
    values         5 6 7 P | 8 9 4 3
    padded         6 7 P 0 | 9 4 3 0        the last slot of a segment has no successor
    valid          6 7 0 0 | 9 4 3 0        the last valid token has none either

No value crosses a border between segments, and every rank of context parallelism gets what belongs to its slots, also
where the successor of a slot is another rank's.
"""

from __future__ import annotations

import numpy as np

from reference_impl.batches import Layout
from reference_impl.context_parallel import Partition, partition
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.ranks import Borders
from reference_impl.thd import check_layout, position_ids


def roll(
    values: IntArray, layout: Layout, world: int, depth: int, borders: Borders, partition: Partition = partition
) -> tuple[IntArray, ...]:
    """Values ``depth`` slots further on in the same segment, or 0, for the slots of each rank: W arrays (T / W,).

    Args:
        values: (T,) in slot order.
        layout: boundaries of the stream.
        world: CP size.
        depth: how far to shift; 1 for the first prediction depth.
        borders: where a segment ends.
        partition: the operation of this name.

    Raises:
        PackingError: as ``partition``, ``values`` does not have one entry per slot, or ``depth`` is negative.
    """
    checked = check_layout(layout)
    total = int(checked.padded[-1])
    if values.shape != (total,):
        raise PackingError("values", values.shape, f"must have one entry for each of {total} slots")
    if depth < 0:
        raise PackingError("depth", depth, "must not be negative")
    ends = np.diff(checked.valid if borders == Borders.VALID else checked.padded)
    has_successor = position_ids(checked) + depth < np.repeat(ends, np.diff(checked.padded))
    source = np.minimum(np.arange(total) + depth, max(total - 1, 0))
    shifted = np.where(has_successor, values[source], 0)
    return tuple(shifted[partition(checked, world, rank)] for rank in range(world))
