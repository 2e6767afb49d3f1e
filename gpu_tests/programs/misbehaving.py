"""Programs that go wrong in one way each, to test the pool."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist

from gpu_tests.ranks.fabric import Fabric
from reference_impl.batches import Layout
from reference_impl.interface import Implementation


def total_of_ranks(fabric: Fabric) -> float:
    """Nothing goes wrong: the sum of 1, 2, ... over the ranks."""
    value = torch.tensor(fabric.everyone.rank + 1.0, device=fabric.device)
    dist.all_reduce(value, group=fabric.everyone.handle)
    return value.item()


def places(fabric: Fabric) -> tuple[int, int, int]:
    """This rank's place among all, among its CP ranks and among its TP ranks."""
    return fabric.everyone.rank, fabric.context.rank, fabric.tensor.rank


def process(fabric: Fabric) -> int:
    """The process id of this rank."""
    del fabric
    return os.getpid()


def one_raises(fabric: Fabric) -> float:
    """The last rank raises while the others wait for it."""
    sys.stdout.write(f"rank {fabric.everyone.rank} was here\n")
    if fabric.everyone.rank == fabric.everyone.size - 1:
        raise ValueError("the slots do not fit")
    return total_of_ranks(fabric)


def one_hangs(fabric: Fabric) -> float:
    """The last rank sleeps while the others wait for it."""
    if fabric.everyone.rank == fabric.everyone.size - 1:
        time.sleep(3600)
    return total_of_ranks(fabric)


def one_dies(fabric: Fabric) -> float:
    """The last rank ends without a word, as a crash in native code does."""
    if fabric.everyone.rank == fabric.everyone.size - 1:
        os._exit(7)
    return total_of_ranks(fabric)


def one_cannot_prepare(fabric: Fabric) -> float:
    """The last rank fails before any rank waits for another."""

    def prepare() -> float:
        if fabric.everyone.rank == fabric.everyone.size - 1:
            raise ValueError("the slots do not fit")
        return 1.0

    return fabric.agree(prepare)


def lacks_an_operation(fabric: Fabric, layout: Layout) -> int:
    """The target has no such operation."""
    del fabric
    return Implementation().partition(layout, 1, 0).size
