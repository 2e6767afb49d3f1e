"""Multi-token prediction: ``roll_tensor`` with packed-sequence parameters, on all ranks at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.targets.megatron_bridge.modules import core, flat_integers, to_tensor
from conformance.targets.megatron_core.groups import Group, on_all_ranks
from reference_impl.batches import Layout
from reference_impl.context_parallel import partition
from reference_impl.documents import IntArray

MODULE = "transformer.multi_token_prediction"


def roll(values: IntArray, layout: Layout, world: int, depth: int) -> tuple[IntArray, ...]:
    """Values rolled ``depth`` times by one, for the slots of each rank.

    Core rolls inside boundaries of its own choice among the two that it is told. What its ranks begin with is
    cut as the specification cuts it, because Core's own cut needs a kernel.
    """
    params = core("packed_seq_params").PackedSeqParams(qkv_format="thd", **_boundaries(layout))
    parts = [to_tensor(values[partition(layout, world, rank)])[None] for rank in range(world)]

    def rolled(group: Group) -> IntArray:
        part: Any = parts[group.own]
        for _ in range(depth):
            part, _ = core(MODULE).roll_tensor(part, shifts=-1, dims=-1, cp_group=group, packed_seq_params=params)
        return flat_integers(part)

    return tuple(on_all_ranks(world, rolled))


def _boundaries(layout: Layout) -> dict[str, Any]:
    """Valid lengths, and slots beside them only where they differ, as a batch carries them."""
    valid, padded = (to_tensor(bounds.astype(np.int32)) for bounds in (layout.valid, layout.padded))
    found = {"cu_seqlens_q": valid, "cu_seqlens_kv": valid}
    if (layout.valid != layout.padded).any():
        found |= {"cu_seqlens_q_padded": padded, "cu_seqlens_kv_padded": padded}
    return found
