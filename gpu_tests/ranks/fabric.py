"""What a program sees of the other ranks.

Ranks are numbered as Megatron does, TP fastest: with CP 2 and TP 2

    rank      0  1  2  3
    CP rank   0  0  1  1
    TP rank   0  1  0  1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist

from reference_impl.errors import NotSupported


class Disagreement(Exception):
    """Some rank could not prepare; raised on all ranks alike, before any of them waits for another."""


@dataclass(frozen=True)
class Group:
    """Ranks that work together, and this rank's place among them.

    Attributes:
        ranks: global ranks in order.
        rank: place of this process in ``ranks``.
        handle: the process group.
    """

    ranks: tuple[int, ...]
    rank: int
    handle: dist.ProcessGroup

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.ranks)

    @property
    def after(self) -> int:
        """Global rank of the next one in the ring."""
        return self.ranks[(self.rank + 1) % self.size]

    @property
    def before(self) -> int:
        """Global rank of the previous one in the ring."""
        return self.ranks[(self.rank - 1) % self.size]


@dataclass(frozen=True)
class Fabric:
    """The ranks that run a program.

    Attributes:
        device: where the tensors of this rank live.
        everyone: all ranks of the program.
        context: ranks among which the slots of a stream are cut.
        tensor: ranks among which heads are split.
    """

    device: torch.device
    everyone: Group
    context: Group
    tensor: Group

    def agree[T](self, prepare: Callable[[], T]) -> T:
        """Run a step that needs no other rank; if it fails on one, it fails on all.

        Raises:
            Disagreement: names every rank whose step failed, and how.
        """
        made: T | None = None
        trouble = None
        try:
            made = prepare()
        except NotSupported:
            raise
        except Exception as error:
            trouble = f"{type(error).__name__}: {error}"
        troubles: list[str | None] = [None] * self.everyone.size
        dist.all_gather_object(troubles, trouble, group=self.everyone.handle)
        if any(troubles):
            raise Disagreement("; ".join(f"rank {rank}: {said}" for rank, said in enumerate(troubles) if said))
        assert made is not None
        return made


class Mesh:
    """Makes the groups of each shape once; all processes must ask for the same shapes in the same order."""

    def __init__(self, rank: int, world: int, device: torch.device) -> None:
        self._rank, self._world, self._device = rank, world, device
        self._made: dict[tuple[int, int], Fabric | None] = {}

    def fabric(self, context: int, tensor: int) -> Fabric | None:
        """The fabric of the first ``context * tensor`` ranks; None on a rank that is not among them.

        Raises:
            ValueError: the world is smaller than that.
        """
        if context * tensor > self._world:
            raise ValueError(f"CP {context} x TP {tensor} needs {context * tensor} ranks; there are {self._world}")
        if (context, tensor) not in self._made:
            self._made[context, tensor] = self._make(context, tensor)
        return self._made[context, tensor]

    def _make(self, context: int, tensor: int) -> Fabric | None:
        everyone = self._group([tuple(range(context * tensor))])
        across = self._group([tuple(range(place, context * tensor, tensor)) for place in range(tensor)])
        beside = self._group([tuple(range(first, first + tensor)) for first in range(0, context * tensor, tensor)])
        if everyone is None or across is None or beside is None:
            return None
        return Fabric(self._device, everyone, across, beside)

    def _group(self, partition: list[tuple[int, ...]]) -> Group | None:
        """Make all groups of a partition, on every rank in the same order; return this rank's."""
        mine = None
        for ranks in partition:
            handle = dist.new_group(list(ranks))
            if self._rank in ranks and isinstance(handle, dist.ProcessGroup):
                mine = Group(ranks, ranks.index(self._rank), handle)
        return mine
