"""First fit at speed: an index over the free slots of the bins, compiled where that pays.

Free slots are kept in a max tree stored as a heap. Bins that are not open yet have their whole capacity free and lie
to the right of the open ones, so that the leftmost bin with enough room is the lowest open one that fits, or the next
to be opened:

    node 1            8             most free slots below it
    nodes 2, 3     1     8
    leaves       0   1 8   8        bins 0 and 1 are open

The tree doubles when its last leaf is opened, so that it stays as small as the open bins.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from reference_impl.documents import IntArray

Placement = Callable[[IntArray, int, Any], IntArray]
Grouping = Callable[[IntArray, IntArray], tuple[IntArray, IntArray]]

COMPILED_FROM = 100_000
"""Lengths from which compiled code is used.

Plain Python places about 200,000 lengths in a second; importing numba takes one or two, and compiling ten more the
first time on a machine (the result is cached on disk). Below this, nobody waits for either. Measured on 2 cores of an
AMD EPYC.
"""


def grouped_first_fit(lengths: IntArray, capacity: int) -> tuple[IntArray, IntArray]:
    """Lengths bin by bin (n,) int64, and the bounds of the bins (n_bins + 1,) int64, by first fit in the given order.

    Bins are numbered as they are opened, and hold their lengths in the order of placement.

    Args:
        lengths: (n,) int64, each from 0 to ``capacity``.
        capacity: slots of one bin, below 2**63.
    """
    if lengths.size < COMPILED_FROM:
        return group_by_bin(lengths, place_first_fit(lengths, capacity))
    place, group = compiled()
    return group(lengths, place(lengths, capacity, np.uint64(1)))


@cache
def compiled() -> tuple[Placement, Grouping]:
    """``place_first_fit`` and ``group_by_bin`` as machine code."""
    numba: Any = importlib.import_module("numba")  # slow to import, and without complete type stubs
    compile_ = numba.njit(cache=True)
    return compile_(place_first_fit), compile_(group_by_bin)


def place_first_fit(lengths: IntArray, capacity: int, one: Any = 1) -> IntArray:
    """Bin of each length (n,) int64, in the part of Python that numba compiles.

    Nodes are numbered in the type of ``one``: machine code looks at every signed index for being negative, and is
    twice as fast with unsigned ones.
    """
    bin_of = np.empty(lengths.size, dtype=np.int64)
    n_leaves = one
    n_open = one - one
    most_free = np.full(2, capacity, dtype=np.int64)
    for position in range(lengths.size):
        length = lengths[position]
        if n_open == n_leaves:
            width = int(n_leaves)
            taller = np.full(4 * width, capacity, dtype=np.int64)
            while width:  # every level of the tree becomes the left half of the level below it
                taller[2 * width : 3 * width] = most_free[width : 2 * width]
                width //= 2
            most_free = taller
            n_leaves += n_leaves
        node = one
        while node < n_leaves:
            node += node
            if most_free[node] < length:
                node += one
        bin_of[position] = node - n_leaves
        n_open = max(n_open, node - n_leaves + one)
        free = most_free[node] - length
        most_free[node] = free
        while node > one:
            free = max(free, most_free[node ^ one])
            node >>= one
            if most_free[node] == free:
                break
            most_free[node] = free
    return bin_of


def group_by_bin(lengths: IntArray, bin_of: IntArray) -> tuple[IntArray, IntArray]:
    """Lengths (n,) bin by bin, and the bounds of the bins, in the part of Python that numba compiles."""
    bounds = np.zeros(bin_of.max() + 2 if bin_of.size else 1, dtype=np.int64)
    for number in bin_of:
        bounds[number + 1] += 1
    bounds = np.cumsum(bounds)
    following = bounds.copy()
    by_bin = np.empty_like(lengths)
    for position in range(lengths.size):
        number = bin_of[position]
        by_bin[following[number]] = lengths[position]
        following[number] += 1
    return by_bin, bounds
