"""What a CP rank must know of a stream before it can attend to anything, as an implementation tells it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reference_impl.batches import BoundaryMetadata, Layout
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation


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
        valid: (n + 1,) valid boundaries of the whole stream, as a kernel gets them.
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
    counts = [np.diff(np.asarray(implementation.local_boundaries(layout, world, each))) for each in range(world)]
    params = implementation.sequence_params(boundary_metadata(layout))
    padded = params.cu_seqlens_q if params.cu_seqlens_q_padded is None else params.cu_seqlens_q_padded
    slots, valid = _boundaries(padded), _boundaries(params.cu_seqlens_q)
    if slots.shape != valid.shape or any(count.shape != (len(slots) - 1,) for count in counts) or slots[-1] != total:
        raise ValueError(f"kernel boundaries {valid.tolist()} and {slots.tolist()} are not those of {total} slots")
    return Cut(
        rank=rank,
        world=world,
        own=torch.from_numpy(parts[rank].astype(np.int64)),
        order=torch.from_numpy(np.concatenate(parts).astype(np.int64)),
        share=slots.diff() // world,
        counts=torch.from_numpy(np.stack(counts).astype(np.int64)),
        slots=slots,
        valid=valid,
    )


def boundary_metadata(layout: Layout) -> BoundaryMetadata:
    """The boundaries of a layout as a batch carries them; nothing is said of valid lengths where nothing is padded."""
    padded, valid = layout.padded.astype(np.int32), layout.valid.astype(np.int32)
    return BoundaryMetadata(
        cu_seqlens=padded,
        argmin=len(padded),
        cu_seqlens_unpadded=None if np.array_equal(padded, valid) else valid,
        unpadded_argmin=None if np.array_equal(padded, valid) else len(valid),
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
