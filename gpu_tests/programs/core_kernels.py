"""Megatron-Core's own functions for packed streams on CP ranks: rotary embedding, and the shift of MTP."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpu_tests.cases import Case
from gpu_tests.oracle import streams_of
from gpu_tests.parallel.cut import boundary_metadata, cut
from gpu_tests.programs import implementation_of
from gpu_tests.programs.core_gpt import core, imported, parameters
from gpu_tests.programs.model import ROPE_BASE
from gpu_tests.ranks.fabric import Fabric
from reference_impl.ranks import Borders, RotaryMode


def rotary(fabric: Fabric, case: Case, mode: str) -> dict[str, Tensor]:
    """Rotate this rank's part of a stream with Core, and row by row as the reference says.

    Args:
        fabric: the ranks.
        case: the stream.
        mode: ``restart``, with a table for the longest segment, or ``stream``, with one for all slots.

    Returns:
        ``got`` and ``exact`` (T / W, H, D), the latter in float64, and ``plain``, the same in float32.
    """
    reference = implementation_of("reference")
    group = fabric.context
    own = cut(reference, case.layout, group.size, group.rank).own
    values = streams_of(case).q[own].to(fabric.device)
    rows = case.slots if mode == "restart" else (sum(case.slots),)
    table = _table(max(rows), case.head_size, torch.float64).to(fabric.device)
    boundaries = torch.from_numpy(case.layout.padded.astype(np.int32)).to(fabric.device)
    with imported():
        rope = core("models.common.embeddings.rope_utils")
        apply = rope._apply_rotary_pos_emb_thd  # noqa: SLF001 - the public function wants a whole config
        got = apply(values, boundaries, table.float()[:, None, None, :], cp_group=group.handle)
    of_slot = torch.from_numpy(reference.rotary_rows(case.layout, group.size, group.rank, RotaryMode(mode)))
    angles = table[of_slot.to(fabric.device)][:, None, :]
    return {
        "got": got,
        "exact": _rotated(values.double(), angles),
        "plain": _rotated(values, angles.float()),
    }


def shifted(fabric: Fabric, case: Case) -> dict[str, Any]:
    """Shift this rank's part of a stream for MTP with Core, and as the reference does.

    Returns:
        ``got`` and ``expected`` (T / W,) of values that name their slot; 0 where there is no successor.
    """
    reference = implementation_of("reference")
    group = fabric.context
    values = np.arange(1, int(case.layout.padded[-1]) + 1, dtype=np.int64)
    own = cut(reference, case.layout, group.size, group.rank).own
    expected = reference.roll(values, case.layout, group.size, 1, Borders.PADDED)[group.rank]
    local = torch.from_numpy(values)[own][None].to(fabric.device)
    with imported():
        params = parameters(boundary_metadata(case.layout), reference, fabric.device)
        roll = core("transformer.multi_token_prediction").roll_tensor
        got, _ = roll(local, cp_group=group.handle, packed_seq_params=params)
    return {"got": got[0], "expected": torch.from_numpy(expected)}


def _table(rows: int, size: int, dtype: torch.dtype) -> Tensor:
    """Angles (rows, size) of each position, both halves alike (arXiv 2104.09864)."""
    half = size // 2
    frequencies = ROPE_BASE ** (-torch.arange(half, dtype=dtype) / half)
    angles = torch.arange(rows, dtype=dtype)[:, None] * frequencies
    return torch.cat([angles, angles], dim=-1)


def _rotated(values: Tensor, angles: Tensor) -> Tensor:
    first, second = values.chunk(2, dim=-1)
    return values * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()
