"""What a CP rank must know of a stream before it can attend to anything, as an implementation tells it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reference_impl.batches import BoundaryMetadata, Layout
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import RankOrder


@dataclass(frozen=True, eq=False)
class Cut:
    """One rank's view of a stream of T slots and n segments, cut for W ranks.

    Attributes:
        rank: CP rank.
        world: W.
        own: (T / W,) slots of this rank, in its order.
        order: (T,) slots of ranks 0 to W - 1, one rank after another.
        share: (n,) slots of each segment on any one rank.
        counts: (W, n) valid tokens of each segment on each rank.
        slots: (n + 1,) slot boundaries of the whole stream, as a kernel gets them.
        valid: (n + 1,) valid boundaries of the keys of the whole stream, as a kernel gets them.
    """

    rank: int
    world: int
    own: Tensor
    order: Tensor
    share: Tensor
    counts: Tensor
    slots: Tensor
    valid: Tensor

    @property
    def inverse(self) -> Tensor:
        """(T,) place in ``order`` of each slot."""
        return torch.argsort(self.order)


def cut(implementation: Implementation, layout: Layout, world: int, rank: int) -> Cut:
    """Ask an implementation for everything.

    Raises:
        ValueError: what it says does not fit together, so that no kernel could run on it.
    """
    total = int(layout.padded[-1])
    parts = [np.asarray(implementation.partition(layout, world, each)) for each in range(world)]
    for each, part in enumerate(parts):
        if part.shape != (total // world,) or part.min(initial=0) < 0 or part.max(initial=0) >= max(total, 1):
            raise ValueError(f"rank {each} of {world} gets slots {part.tolist()} of a stream of {total}")
    order = np.concatenate(parts)
    if Op.ALL_TO_ALL_ORDER in implementation.operations():
        _check_order(implementation.all_to_all_order(layout, world), order)
    counts = [np.diff(np.asarray(implementation.local_boundaries(layout, world, each))) for each in range(world)]
    slots, valid = kernel_boundaries(implementation, layout)
    if slots.shape != valid.shape or any(count.shape != (len(slots) - 1,) for count in counts) or slots[-1] != total:
        raise ValueError(f"kernel boundaries {valid.tolist()} and {slots.tolist()} are not those of {total} slots")
    return Cut(
        rank=rank,
        world=world,
        own=torch.from_numpy(parts[rank].astype(np.int64)),
        order=torch.from_numpy(order.astype(np.int64)),
        share=slots.diff() // world,
        counts=torch.from_numpy(np.stack(counts).astype(np.int64)),
        slots=slots,
        valid=valid,
    )


def _check_order(told: RankOrder, order: IntArray) -> None:
    """An all-to-all that orders slots otherwise than the ranks hold them would hand out those of others."""
    if not np.array_equal(told.to_ranks, order) or not np.array_equal(told.to_ranks[told.to_stream], np.sort(order)):
        raise ValueError(f"the all-to-all orders slots {told.to_ranks.tolist()}, the ranks hold {order.tolist()}")


def kernel_boundaries(implementation: Implementation, layout: Layout) -> tuple[Tensor, Tensor]:
    """Slot boundaries, and valid boundaries of the keys, (n + 1,) each, as a kernel gets them.

    Raises:
        ValueError: they depend on the form in which the batch carries its boundaries, queries and keys do not lie in
            the same slots, or the table of rotary positions, which has ``max_seqlen`` rows, would be too short.
    """
    found: list[tuple[Tensor, Tensor]] = []
    for sentinels in (0, SENTINELS):
        params = implementation.sequence_params(boundary_metadata(layout, sentinels))
        padded, kv_padded = params.cu_seqlens_q_padded, params.cu_seqlens_kv_padded
        slots = _boundaries(params.cu_seqlens_q if padded is None else padded)
        if kv_padded is not None and not torch.equal(_boundaries(kv_padded), slots):
            raise ValueError(f"queries lie in slots {slots.tolist()}, keys in {kv_padded.tolist()}")
        longest = int(slots.diff().max()) if len(slots) > 1 else 0
        if params.max_seqlen_kv is None or params.max_seqlen_kv < longest:
            raise ValueError(f"max_seqlen is {params.max_seqlen_kv}, but a segment has {longest} slots")
        found.append((slots, _boundaries(params.cu_seqlens_kv)))
    if not all(torch.equal(one, other) for one, other in zip(*found, strict=True)):
        raise ValueError(f"boundaries are {found[0]}, and with {SENTINELS} sentinels {found[1]}")
    return found[0]


SENTINELS = 3
"""Entries of -1 behind the boundaries of a row, as Bridge's collation fills them up."""


def boundary_metadata(layout: Layout, sentinels: int = 0) -> BoundaryMetadata:
    """The boundaries of a layout as a batch carries them.

    With sentinels they are the only row of a batch, which says how many entries are true; without any they are a plain
    array, which does not. Nothing is said of valid lengths where nothing is padded.
    """
    padded, valid = (
        np.append(boundaries, np.full(sentinels, -1)).astype(np.int32) for boundaries in (layout.padded, layout.valid)
    )
    argmin = len(layout.padded) if sentinels else None
    if sentinels:
        padded, valid = padded[None], valid[None]
    nothing_padded = np.array_equal(padded, valid)
    return BoundaryMetadata(
        cu_seqlens=padded,
        argmin=argmin,
        cu_seqlens_unpadded=None if nothing_padded else valid,
        unpadded_argmin=None if nothing_padded else argmin,
        max_seqlen=int(np.diff(layout.padded).max(initial=0)),
    )


def _boundaries(array: IntArray) -> Tensor:
    if array.ndim != 1:
        raise ValueError(f"a kernel takes boundaries of one dimension, not {array.tolist()}")
    return torch.from_numpy(array.astype(np.int64))


def segment_and_offset(share: Tensor) -> tuple[Tensor, Tensor]:
    """Segment and offset inside it of every slot, for segments with ``share`` (n,) slots."""
    segment = torch.repeat_interleave(torch.arange(len(share)), share)
    starts = torch.cumsum(share, 0) - share
    return segment, torch.arange(len(segment)) - starts[segment]
