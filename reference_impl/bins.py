"""Lengths to bins: first fit in three orders, best fit, and the histogram packers.

First fit puts every length into the lowest-numbered open bin that still holds it; when none does, the next is opened:

    lengths 5 3 4 4 2 7, capacity 8

    bin 0   5 5 5 5 5 3 3 3
    bin 1   4 4 4 4 4 4 4 4
    bin 2   2 2 . . . . . .
    bin 3   7 7 7 7 7 7 7 .

Best fit decreasing takes the fullest bin that still holds it instead, the longest lengths first (TRL issue #3645). The
histogram packers (``reference_impl.histogram_packing``) work on counted lengths.

The rules word for word are in ``reference_impl.naive_bins``; the functions here give the same bins, in O(n log n).
Source of first fit and its orders: Megatron Bridge ``data/datasets/packing_utils.py``.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.errors import PackingError
from reference_impl.first_fit import grouped_first_fit
from reference_impl.histogram_packing import counted, expanded, longest_pack_first, shortest_pack_first
from reference_impl.lengths import checked_lengths, random_stream


@dataclass(frozen=True, eq=False)
class FlatBins:
    """Bins as two arrays, for millions of lengths: tuples take longer to make than the bins to find.

    Attributes:
        lengths: (n,) int64, runtime lengths bin by bin, both in the order of placement.
        bounds: (n_bins + 1,) int64; bin b holds ``lengths[bounds[b] : bounds[b + 1]]``.
    """

    lengths: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, bins: Bins) -> FlatBins:
        """The arrays of nested bins."""
        sizes = np.array([0, *(len(held) for held in bins)], dtype=np.int64)
        return cls(np.array([length for held in bins for length in held], dtype=np.int64), np.cumsum(sizes))

    def nested(self) -> Bins:
        """The same bins as tuples."""
        lengths = self.lengths.tolist()
        return tuple(tuple(lengths[start:end]) for start, end in pairwise(self.bounds.tolist()))


def assign_bins(lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
    """Assign lengths to bins by the named algorithm.

    Args:
        lengths: (n,) int64, runtime lengths in slots.
        capacity: slots of one bin.
        algorithm: how they are placed.
        seed: decides the order of ``FIRST_FIT_SHUFFLE``; the others ignore it.

    Returns:
        Lengths by bin, both in the order of placement.

    Raises:
        PackingError: the algorithm is unknown, or as ``first_fit``.
    """
    if algorithm == Algorithm.BEST_FIT_DECREASING:
        return best_fit_decreasing(lengths, capacity)
    if algorithm == Algorithm.SHORTEST_PACK_FIRST:
        return expanded(shortest_pack_first(counted(checked_lengths(lengths, capacity)), capacity))
    if algorithm == Algorithm.LONGEST_PACK_FIRST:
        return expanded(longest_pack_first(counted(checked_lengths(lengths, capacity)), capacity))
    return _flat_first_fit_in_order(lengths, capacity, algorithm, seed).nested()


def flat_bins(lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> FlatBins:
    """``assign_bins`` as arrays; raises as that."""
    if algorithm in (Algorithm.FIRST_FIT, Algorithm.FIRST_FIT_DECREASING, Algorithm.FIRST_FIT_SHUFFLE):
        return _flat_first_fit_in_order(lengths, capacity, algorithm, seed)
    return FlatBins.of(assign_bins(lengths, capacity, algorithm, seed))


def first_fit(lengths: IntArray, capacity: int) -> Bins:
    """Place lengths (n,) in the given order.

    Raises:
        PackingError: ``capacity`` is not from 1 to 2**63 - 1, or a length is negative, above it or no integer.
    """
    return flat_first_fit(lengths, capacity).nested()


def first_fit_decreasing(lengths: IntArray, capacity: int) -> Bins:
    """Place lengths (n,) in descending order; raises as ``first_fit``."""
    return assign_bins(lengths, capacity, Algorithm.FIRST_FIT_DECREASING, seed=0)


def first_fit_shuffle(lengths: IntArray, capacity: int, seed: int) -> Bins:
    """Place lengths (n,) in the order of ``RandomState(seed).shuffle``; raises as ``first_fit``."""
    return assign_bins(lengths, capacity, Algorithm.FIRST_FIT_SHUFFLE, seed)


def _flat_first_fit_in_order(lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> FlatBins:
    checked = checked_lengths(lengths, capacity)
    if algorithm == Algorithm.FIRST_FIT_DECREASING:
        # A reversed sort is stable for all anyone can see: equal lengths are the same length.
        return flat_first_fit(np.sort(checked)[::-1], capacity)
    if algorithm == Algorithm.FIRST_FIT_SHUFFLE:
        shuffled = checked.copy()
        random_stream(seed).shuffle(shuffled)
        return flat_first_fit(shuffled, capacity)
    if algorithm == Algorithm.FIRST_FIT:
        return flat_first_fit(checked, capacity)
    raise PackingError("algorithm", algorithm, f"must be one of {', '.join(Algorithm)}")


def flat_first_fit(lengths: IntArray, capacity: int) -> FlatBins:
    """``first_fit`` without the tuples; raises as that."""
    checked = np.ascontiguousarray(checked_lengths(lengths, capacity))
    return FlatBins(*grouped_first_fit(checked, capacity))


def best_fit_decreasing(lengths: IntArray, capacity: int) -> Bins:
    """Place lengths (n,) in descending order, each in the fullest bin with room, of equals in the one opened first.

    Raises:
        PackingError: as ``first_fit``.
    """
    descending: list[int] = np.sort(checked_lengths(lengths, capacity))[::-1].tolist()
    bins: list[list[int]] = []
    with_room: dict[int, list[int]] = {}  # bins by their free slots, each list a heap
    rooms: list[int] = []  # the keys, ascending
    for length in descending:
        place = bisect_left(rooms, length)
        if place == len(rooms):
            number, room = len(bins), capacity
            bins.append([])
        else:
            room = rooms[place]
            number = heappop(with_room[room])
            if not with_room[room]:
                del with_room[room], rooms[place]
        bins[number].append(length)
        if room - length not in with_room:
            with_room[room - length] = []
            insort(rooms, room - length)
        heappush(with_room[room - length], number)
    return tuple(tuple(held) for held in bins)
