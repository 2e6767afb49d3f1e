"""Rotary embeddings for THD: which row of a table Core rotates which slot with.

Core returns rotated values, not rows. Every row of the table is therefore an angle of its own, a unit vector is
rotated, and the angle that it was turned by names the row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.targets.megatron_core.groups import Group
from conformance.targets.modules import core, to_tensor
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.errors import Inexpressible
from reference_impl.ranks import RotaryMode

MODULE = "models.common.embeddings.rope_utils"
LARGEST = 2**20
"""Values that are told apart; angles are doubles between 0 and a quarter turn."""


def rotary_rows(layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
    """Row of the table for each slot of a rank, the table having rows for the longest segment or for all slots."""
    rows = int(layout.padded[-1])
    if mode == RotaryMode.RESTART:
        rows = int(np.diff(layout.padded).max(initial=0))
    return _turned(np.arange(rows, dtype=np.int64)[:, None], layout, world, rank)[:, 0]


def rotary_axes(positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
    """Positions of a rank's slots on every axis, the table having a row of as many angles for each slot."""
    return _turned(positions.T, layout, world, rank).T


def _turned(table: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
    """The rows (T / W, A) of ``table`` (N, A) by which the slots of a rank are rotated."""
    if not 0 <= rank < world:
        raise Inexpressible(f"no process group of {world} ranks has a rank {rank}")
    most = int(table.max(initial=0))
    if most > LARGEST:
        raise Inexpressible(f"no more than {LARGEST} positions can be told apart")
    quarter = np.pi / 2 / (most + 1)
    angles = np.concatenate([table, table], axis=1) * quarter
    slots, axes = int(layout.padded[-1]) // world, table.shape[1]
    unit = np.concatenate([np.ones((slots, 1, axes)), np.zeros((slots, 1, axes))], axis=2)
    rotated: Any = core(MODULE)._apply_rotary_pos_emb_thd(  # noqa: SLF001 - the path without a kernel
        to_tensor(unit),
        to_tensor(layout.padded.astype(np.int32)),
        to_tensor(angles[:, None, None, :]),
        cp_group=Group(world, rank),
    )
    found = rotated.numpy()[:, 0]
    return np.rint(np.arctan2(found[:, axes:], found[:, :axes]) / quarter).astype(np.int64)
