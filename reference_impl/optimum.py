"""The fewest bins that hold some lengths, exactly; for small instances, because the problem is NP-hard.

Approximation bounds are checked against this number, never against ceil(sum / capacity), which may be out of reach:
three lengths of 5 need three bins of 8, and not two.

Branch and bound over the lengths in descending order: each goes into one of the open bins or into a new one, until the
bins used and those that the rest needs at least are no fewer than the best packing known.

Sources: the bound L2 and the order of branching of Martello and Toth, "Lower bounds and reduction procedures for the
bin packing problem", 1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from reference_impl.bins import best_fit_decreasing, first_fit_decreasing
from reference_impl.documents import Bins, IntArray
from reference_impl.errors import PackingError
from reference_impl.lengths import checked_lengths

MOST_NODES = 1_000_000
"""Decisions after which the search gives up; some seconds."""


def minimum_bins(lengths: IntArray, capacity: int, *, most_nodes: int = MOST_NODES) -> int:
    """The fewest bins that hold ``lengths`` (n,); see ``optimal_bins``."""
    return len(optimal_bins(lengths, capacity, most_nodes=most_nodes))


def optimal_bins(lengths: IntArray, capacity: int, *, most_nodes: int = MOST_NODES) -> Bins:
    """Bins that are as few as can be.

    Args:
        lengths: (n,) int64, runtime lengths.
        capacity: slots of one bin.
        most_nodes: decisions after which the search gives up.

    Raises:
        PackingError: as ``first_fit``, or the search came to no end within ``most_nodes`` decisions.
    """
    checked = checked_lengths(lengths, capacity)
    filling = checked[checked > 0]
    if not filling.size:
        return (tuple(checked.tolist()),) if checked.size else ()
    known = min(first_fit_decreasing(filling, capacity), best_fit_decreasing(filling, capacity), key=len)
    best = _Search(filling, capacity, known, lower_bound(filling, capacity), most_nodes).run()
    zeros = (0,) * (checked.size - filling.size)
    return ((*best[0], *zeros), *best[1:])


def lower_bound(lengths: IntArray, capacity: int) -> int:
    """Martello and Toth's L2: bins that ``lengths`` (n,) need at least.

    For a threshold k, lengths above ``capacity - k`` need a bin each that takes nothing from k on; those above half of
    the capacity need a bin each too; the lengths from k to the half fill first what those leave free. The largest of
    these numbers over all k is the bound, and k need only be one of the lengths up to the half.

    Raises:
        PackingError: as ``first_fit``.
    """
    checked = checked_lengths(lengths, capacity)
    small = checked[checked <= capacity // 2]
    large = checked[checked > capacity // 2]
    bound = large.size
    for threshold in np.unique(small).tolist():
        roomy = large[large <= capacity - threshold]
        rest = sum(small[small >= threshold].tolist()) - sum((capacity - roomy).tolist())  # may exceed int64
        bound = max(bound, large.size + -(-rest // capacity))
    return bound


class _Search:
    """Depth-first search for fewer bins than a known packing has.

    Args:
        lengths: (n,) int64, above 0.
        capacity: slots of one bin.
        known: a packing.
        fewest: bins that are needed at least.
        most_nodes: decisions after which to give up.
    """

    def __init__(self, lengths: IntArray, capacity: int, known: Bins, fewest: int, most_nodes: int) -> None:
        ascending: list[int] = np.sort(lengths).tolist()
        self._lengths = ascending[::-1]
        self._rest = list(accumulate(ascending))[::-1]
        self._capacity = capacity
        self._best = known
        self._fewest = fewest
        self._nodes_left = most_nodes
        self._bins: list[list[int]] = []
        self._free: list[int] = []
        self._seen: set[tuple[int, ...]] = set()

    def run(self) -> Bins:
        """The best packing."""
        self._place(0)
        return self._best

    def _place(self, position: int) -> None:
        """Place the length at ``position`` and all after it, in every way that may be better than the best."""
        if position == len(self._lengths):
            self._best = tuple(tuple(held) for held in self._bins)
            return
        state = (position, *sorted(self._free))
        if self._at_least(position) >= len(self._best) or state in self._seen:
            return
        self._seen.add(state)
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise PackingError("lengths", f"{len(self._lengths)} lengths", "are too many for an exact optimum")
        length = self._lengths[position]
        for number in self._choices(length):
            self._free[number] -= length
            self._bins[number].append(length)
            self._place(position + 1)
            self._bins[number].pop()
            self._free[number] += length
        if len(self._bins) + 1 < len(self._best) and length not in self._free:
            self._bins.append([length])
            self._free.append(self._capacity - length)
            self._place(position + 1)
            self._bins.pop()
            self._free.pop()

    def _at_least(self, position: int) -> int:
        """Bins that any packing from here on has: free slots too few for the shortest length are lost."""
        shortest = self._lengths[-1]
        usable = sum(free for free in self._free if free >= shortest)
        more = max(0, -(-(self._rest[position] - usable) // self._capacity))
        return max(self._fewest, len(self._bins) + more)

    def _choices(self, length: int) -> Sequence[int]:
        """Open bins to try, the fullest first.

        Bins with equally many free slots are the same choice, and one that the length fills to the last slot is never
        a worse choice than any other.
        """
        number_of = {free: number for number, free in enumerate(self._free) if free >= length}
        if length in number_of:
            return [number_of[length]]
        return [number_of[free] for free in sorted(number_of)]
