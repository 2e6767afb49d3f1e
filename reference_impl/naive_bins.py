"""The packing algorithms word for word: slow, and easy to check by eye.

``reference_impl.bins`` must give the same bins. Where an algorithm has to choose among equal bins, it takes the one
that was opened first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from reference_impl.documents import Bins
from reference_impl.lengths import random_stream

OpenBins = Sequence[Sequence[int]]
Choice = Callable[[OpenBins, Sequence[int]], int]
"""Of the open bins, and the numbers of those with room, the number of the one to use."""


def naive_first_fit(lengths: Iterable[int], capacity: int) -> Bins:
    """Each length goes into the lowest-numbered bin with room."""
    return _pack(lengths, capacity, lambda _bins, roomy: roomy[0])


def naive_first_fit_decreasing(lengths: Iterable[int], capacity: int) -> Bins:
    """First fit, the longest first."""
    return naive_first_fit(sorted(lengths, reverse=True), capacity)


def naive_first_fit_shuffle(lengths: Iterable[int], capacity: int, seed: int) -> Bins:
    """First fit in the order of ``RandomState(seed).shuffle``."""
    shuffled = np.array(list(lengths), dtype=np.int64)
    random_stream(seed).shuffle(shuffled)
    return naive_first_fit(shuffled.tolist(), capacity)


def naive_best_fit_decreasing(lengths: Iterable[int], capacity: int) -> Bins:
    """The longest first, each into the fullest bin with room."""
    return _pack(sorted(lengths, reverse=True), capacity, lambda bins, roomy: max(roomy, key=lambda b: sum(bins[b])))


def naive_longest_pack_first(lengths: Iterable[int], capacity: int) -> Bins:
    """Best fit decreasing: counting the lengths changes nothing but the speed."""
    return naive_best_fit_decreasing(lengths, capacity)


def naive_shortest_pack_first(lengths: Iterable[int], capacity: int) -> Bins:
    """The longest first, each into the emptiest bin with room.

    When a length fits into none, it opens a bin, and so does every further one that is equal to it.
    """
    bins: list[list[int]] = []
    stuck: int | None = None
    for length in sorted(lengths, reverse=True):
        emptiest = min(bins, key=sum, default=[capacity + 1])
        if length == stuck or sum(emptiest) + length > capacity:
            stuck = length
            bins.append([length])
        else:
            emptiest.append(length)
    return tuple(tuple(held) for held in bins)


def _pack(lengths: Iterable[int], capacity: int, choose: Choice) -> Bins:
    """Put each length into the chosen one of the bins with room, or into a new one where there is none."""
    bins: list[list[int]] = []
    for length in lengths:
        roomy = [number for number, held in enumerate(bins) if sum(held) + length <= capacity]
        if roomy:
            bins[choose(bins, roomy)].append(length)
        else:
            bins.append([length])
    return tuple(tuple(held) for held in bins)
