"""First fit: lengths to bins, in three orders.

Every length goes into the lowest-numbered open bin that still holds it; when none does, the next bin is opened:

    lengths 5 3 4 4 2 7, capacity 8

    bin 0   5 5 5 5 5 3 3 3
    bin 1   4 4 4 4 4 4 4 4
    bin 2   2 2 . . . . . .
    bin 3   7 7 7 7 7 7 7 .

The placement is that of the naive rule (scan the bins from the first on), found in O(n log n) with a max tree.
Source of rule and orders: Megatron Bridge ``data/datasets/packing_utils.py``. First fit is not best fit, which takes
the tightest bin instead of the lowest (TRL issue #3645).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.errors import PackingError


def assign_bins(lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
    """Assign lengths to bins by the named algorithm.

    Args:
        lengths: (n,) int64, runtime lengths in slots.
        capacity: slots of one bin.
        algorithm: order in which the lengths are placed.
        seed: decides the order of ``FIRST_FIT_SHUFFLE``; the others ignore it.

    Returns:
        Lengths by bin, both in the order of placement.

    Raises:
        PackingError: the algorithm is unknown, or as ``first_fit``.
    """
    if algorithm == Algorithm.FIRST_FIT:
        return first_fit(lengths, capacity)
    if algorithm == Algorithm.FIRST_FIT_DECREASING:
        return first_fit_decreasing(lengths, capacity)
    if algorithm == Algorithm.FIRST_FIT_SHUFFLE:
        return first_fit_shuffle(lengths, capacity, seed)
    raise PackingError("algorithm", algorithm, f"must be one of {', '.join(Algorithm)}")


def first_fit(lengths: IntArray, capacity: int) -> Bins:
    """Place lengths (n,) in the given order.

    Raises:
        PackingError: ``capacity`` is below 1, or a length is negative, above ``capacity`` or no integer.
    """
    return _place(checked_lengths(lengths, capacity), capacity)


def first_fit_decreasing(lengths: IntArray, capacity: int) -> Bins:
    """Place lengths (n,) in descending order; raises as ``first_fit``."""
    # A reversed sort of plain integers is stable for all anyone can see: equal lengths are the same length.
    return _place(sorted(checked_lengths(lengths, capacity), reverse=True), capacity)


def first_fit_shuffle(lengths: IntArray, capacity: int, seed: int) -> Bins:
    """Place lengths (n,) in the order of ``RandomState(seed).shuffle``; raises as ``first_fit``."""
    shuffled = checked_lengths(lengths, capacity)
    random_stream(seed).shuffle(shuffled)
    return _place(shuffled, capacity)


def checked_lengths(lengths: IntArray, capacity: int | None = None, *, argument: str = "lengths") -> list[int]:
    """Return ``lengths`` (n,) as plain integers.

    Args:
        lengths: what the caller gave.
        capacity: largest length allowed, or None.
        argument: name of ``lengths`` for the message.

    Raises:
        PackingError: ``capacity`` is below 1, or a length is negative, above ``capacity`` or no integer.
    """
    if capacity is not None and capacity < 1:
        raise PackingError("capacity", capacity, "must be at least 1")
    array = np.asarray(lengths)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise PackingError(argument, lengths, "must be a one-dimensional array of integers")
    for length in array[array < 0][:1]:
        raise PackingError(argument, int(length), "must not be negative")
    if capacity is not None:
        for length in array[array > capacity][:1]:
            raise PackingError(argument, int(length), f"must not exceed the capacity of {capacity} slots")
    return [int(length) for length in array]


def random_stream(seed: int) -> np.random.RandomState:
    """Return the random stream of ``seed``, independent of NumPy's global one.

    The legacy generator is part of the contract: packed files of Megatron Bridge 0.6 come from it.

    Raises:
        PackingError: ``seed`` is outside of 0..2**32 - 1.
    """
    if not 0 <= seed < 2**32:
        raise PackingError("seed", seed, "must be from 0 to 2**32 - 1")
    return np.random.RandomState(seed)


def _place(lengths: Sequence[int], capacity: int) -> Bins:
    """First fit of lengths that are known to fit into an empty bin."""
    bins: list[list[int]] = []
    tree = _FreeSlots(len(lengths), capacity)
    for length in lengths:
        bin_index = tree.take(length)
        if bin_index == len(bins):
            bins.append([])
        bins[bin_index].append(length)
    return tuple(tuple(lengths_of_bin) for lengths_of_bin in bins)


class _FreeSlots:
    """Free slots of every bin that may ever be opened, in a max tree stored as a heap.

    Bins that are not open yet have their whole capacity free and lie to the right of the open ones, so that the
    leftmost bin with enough room is either the lowest open one that fits, or the next to be opened:

        node 1            8             most free slots below it
        nodes 2, 3     1     8
        leaves       0   1 8   8        bins 0 and 1 are open
    """

    def __init__(self, n_bins: int, capacity: int) -> None:
        self._first_leaf = 1 << max(n_bins - 1, 0).bit_length()
        self._most_free = [capacity] * (2 * self._first_leaf)

    def take(self, length: int) -> int:
        """Take ``length`` slots of the leftmost bin that has them; return its index."""
        node = 1
        while node < self._first_leaf:
            node *= 2
            if self._most_free[node] < length:
                node += 1
        taken = node - self._first_leaf
        self._most_free[node] -= length
        while node > 1:
            node //= 2
            self._most_free[node] = max(self._most_free[2 * node], self._most_free[2 * node + 1])
        return taken
