"""Multi-token prediction: ``roll_tensor`` with packed-sequence parameters, on all ranks at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.targets.megatron_core.groups import Group, on_all_ranks
from conformance.targets.modules import core, flat_integers, to_tensor
from reference_impl.batches import Layout
from reference_impl.context_parallel import partition
from reference_impl.documents import IntArray
from reference_impl.errors import Inexpressible, NotSupported

MODULE = "transformer.multi_token_prediction"


def roll(values: IntArray, layout: Layout, world: int, depth: int) -> tuple[IntArray, ...]:
    """Values rolled ``depth`` times by one, for the slots of each rank.

    Core rolls inside boundaries of its own choice among the two that it is told. What its ranks begin with is
    cut as the specification cuts it, because Core's own cut needs a kernel.
    """
    parts = _parts(values, layout, world)
    params = core("packed_seq_params").PackedSeqParams(qkv_format="thd", **_boundaries(layout))

    def rolled(group: Group) -> IntArray:
        part: Any = parts[group.own]
        for _ in range(depth):
            part, _ = core(MODULE).roll_tensor(part, shifts=-1, dims=-1, cp_group=group, packed_seq_params=params)
        return flat_integers(part)

    return tuple(on_all_ranks(world, rolled))


def _parts(values: IntArray, layout: Layout, world: int) -> list[Any]:
    """What each rank begins with (1, T / W); what the cut itself would refuse or lose is no answer of Core's."""
    if world == 1:
        return [to_tensor(values)[None]]
    if (np.diff(layout.padded) % (2 * world)).any():
        raise NotSupported("without a kernel Megatron-Core cuts no stream, and the specification refuses this one")
    if len(values) != layout.padded[-1]:
        raise Inexpressible(
            "without a kernel Megatron-Core cuts no stream, and the specification cuts whole ones only"
        )
    return [to_tensor(values[partition(layout, world, rank)])[None] for rank in range(world)]


def _boundaries(layout: Layout) -> dict[str, Any]:
    """Valid lengths, and slots beside them only where they differ, as a batch carries them."""
    valid, padded = (to_tensor(bounds.astype(np.int32)) for bounds in (layout.valid, layout.padded))
    found = {"cu_seqlens_q": valid, "cu_seqlens_kv": valid}
    if (layout.valid != layout.padded).any():
        found |= {"cu_seqlens_q_padded": padded, "cu_seqlens_kv_padded": padded}
    return found
