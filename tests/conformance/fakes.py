"""Targets that misbehave, each in one way, to test the harness."""

from __future__ import annotations

import os
import sys
import time
from typing import NoReturn

import numpy as np

from reference_impl.batches import Layout
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


class OffByOne:
    """No subclass of anything: a user's packer whose ranks own the wrong last slot."""

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        chunks: list[int] = []
        for start, end in zip(layout.padded[:-1], layout.padded[1:], strict=True):
            size = int(end - start) // (2 * world)
            first, second = int(start) + rank * size, int(start) + (2 * world - 1 - rank) * size
            chunks += [*range(first, first + size), *range(second, second + size)]
        if world > 1 and rank == 0 and chunks:
            chunks[-1] -= 1
        return np.array(chunks, dtype=np.int64)


class Raises(ReferenceImplementation):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> NoReturn:
        raise ZeroDivisionError("<script>alert(1)</script> [red]markup[/red] \x1b[31m")


class Prints(ReferenceImplementation):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        print('{"kind": "footer"}')  # noqa: T201 - this is what it does wrong
        os.write(1, b"straight to the descriptor\n")
        return super().assign_bins(lengths, capacity, algorithm, seed)


class ChangesItsInput(ReferenceImplementation):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        lengths[::-1].sort()
        return bins


class Hangs(ReferenceImplementation):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        while len(lengths):
            time.sleep(0.05)
        return super().assign_bins(lengths, capacity, algorithm, seed)


class KillsTheProcess(ReferenceImplementation):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> NoReturn:
        os._exit(3)


class Exits(ReferenceImplementation):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> NoReturn:
        sys.exit(1)


class IsRandom(ReferenceImplementation):
    calls = 0

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        IsRandom.calls += 1
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        return bins[:-1] if IsRandom.calls % 7 == 0 else bins


class CannotBeMade(ReferenceImplementation):
    def __init__(self) -> None:
        raise RuntimeError("no licence")


class Nothing:
    """Has no operation at all."""
