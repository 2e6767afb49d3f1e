"""Process groups that no process stands behind: ranks of context parallelism as threads of this process."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Queue
from typing import Any
from unittest import mock

from conformance.targets.modules import torch

PATIENCE = 60
"""Seconds that a rank waits for another one's tensor before the run counts as stuck."""


@dataclass(frozen=True)
class Group:
    """What Core asks of a process group.

    Attributes:
        world: number of its ranks.
        own: this rank.
    """

    world: int
    own: int

    def size(self) -> int:
        """Number of ranks."""
        return self.world

    def rank(self) -> int:
        """This rank."""
        return self.own


def _made() -> defaultdict[tuple[int, int], Queue[Any]]:
    return defaultdict(Queue)


@dataclass
class _Mail:
    """Tensors on their way, by sender and receiver, in the order in which they were sent."""

    boxes: defaultdict[tuple[int, int], Queue[Any]] = field(default_factory=_made)
    local: threading.local = field(default_factory=threading.local)

    def isend(self, tensor: Any, dst: int) -> _Done:
        self.boxes[self.local.rank, dst].put(tensor.clone())
        return _Done(lambda: None)

    def irecv(self, tensor: Any, src: int) -> _Done:
        box = self.boxes[src, self.local.rank]
        return _Done(lambda: tensor.copy_(box.get(timeout=PATIENCE)))


@dataclass(frozen=True)
class _Done:
    """The handle of a transfer."""

    finish: Callable[[], object]

    def wait(self) -> None:
        self.finish()


def on_all_ranks[Result](world: int, work: Callable[[Group], Result]) -> list[Result]:
    """What every rank gives, each in a thread of its own, with ``torch.distributed`` between them."""
    mail = _Mail()
    # Boxes are made up front: two threads that ask for a new one at once would get two.
    for src in range(world):
        for dst in range(world):
            mail.boxes[src, dst] = Queue()

    def one(rank: int) -> Result:
        mail.local.rank = rank
        return work(Group(world, rank))

    with _between_threads(mail), ThreadPoolExecutor(world) as pool:
        return list(pool.map(one, range(world)))


@contextmanager
def _between_threads(mail: _Mail) -> Iterator[None]:
    def rank_of(group: Group) -> int:
        return group.own

    def ranks_of(group: Group) -> list[int]:
        return list(range(group.world))

    with mock.patch.multiple(
        torch().distributed,
        isend=mail.isend,
        irecv=mail.irecv,
        get_rank=rank_of,
        get_process_group_ranks=ranks_of,
    ):
        yield
