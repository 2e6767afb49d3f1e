"""Packing of counted lengths: shortest and longest pack first.

Bins that hold the same lengths are one *group*. A data set has far fewer groups than documents, so that millions of
documents are packed in milliseconds:

    documents   6 6 6 3 2 2 2, capacity 8

    6 x 3       (6) x 3
    3 x 1       (6) x 3   (3) x 1
    2 x 3       longest pack first:  (6 2) x 3   (3) x 1
                shortest pack first: (6) x 2   (6 2) x 1   (3 2 2) x 1

The longest documents come first. *Longest pack first* puts each into the fullest pack with room, and is best fit
decreasing on counts. *Shortest pack first* puts it into the emptiest pack with room; when a document fits into none,
every remaining document of its length opens a pack of its own.

Source: Krell, Kosec, Perez and Fitzgibbon, "Efficient Sequence Packing without Cross-contamination", 2021
(arXiv 2107.02027), from the description of its algorithms.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reference_impl.documents import Bins, IntArray
from reference_impl.errors import PackingError

Counts = Mapping[int, int]
"""Documents of each runtime length."""


@dataclass(frozen=True)
class PackGroup:
    """Bins that hold the same lengths.

    Attributes:
        lengths: runtime lengths in one of them, descending.
        count: how many there are.
    """

    lengths: tuple[int, ...]
    count: int


@dataclass
class _OpenPacks:
    """Groups by the free slots of each of their packs; ``rooms`` holds the keys, ascending."""

    groups: dict[int, list[PackGroup]]
    rooms: list[int]

    def put(self, room: int, group: PackGroup) -> None:
        if room not in self.groups:
            insort(self.rooms, room)
            self.groups[room] = []
        self.groups[room].append(group)

    def take(self, room: int) -> PackGroup:
        group = self.groups[room].pop()
        if not self.groups[room]:
            del self.groups[room]
            self.rooms.remove(room)
        return group


_Choice = Callable[[Sequence[int], int], int]
"""Of the free slots of all open packs, ascending, and of the place of the first that suffices: the place to use."""


def counted(lengths: IntArray) -> Counts:
    """Count lengths (n,)."""
    values, numbers = np.unique(lengths, return_counts=True)
    return dict(zip(values.tolist(), numbers.tolist(), strict=True))


def shortest_pack_first(counts: Counts, capacity: int, *, most_documents: int | None = None) -> tuple[PackGroup, ...]:
    """Each document, the longest first, goes into the emptiest pack with room.

    Args:
        counts: documents of each runtime length.
        capacity: slots of one pack.
        most_documents: documents of one pack at most; None means any number.

    Raises:
        PackingError: ``capacity`` or ``most_documents`` is below 1, or ``counts`` holds a negative length or number,
            or a document longer than ``capacity``.
    """
    return _pack(counts, capacity, most_documents, choose=lambda rooms, _first: len(rooms) - 1, fill_up=False)


def longest_pack_first(counts: Counts, capacity: int, *, most_documents: int | None = None) -> tuple[PackGroup, ...]:
    """Each document, the longest first, goes into the fullest pack with room; as ``shortest_pack_first`` otherwise."""
    return _pack(counts, capacity, most_documents, choose=lambda _rooms, first: first, fill_up=True)


def expanded(groups: Sequence[PackGroup]) -> Bins:
    """One bin for every pack of the groups."""
    return tuple(group.lengths for group in groups for _ in range(group.count))


def _pack(
    counts: Counts, capacity: int, most_documents: int | None, *, choose: _Choice, fill_up: bool
) -> tuple[PackGroup, ...]:
    """Pack the longest documents first; with ``fill_up`` a chosen pack stays the chosen one while it has room."""
    _check(counts, capacity, most_documents)
    most = sum(counts.values()) if most_documents is None else most_documents
    closed: list[PackGroup] = []
    packs = _OpenPacks({}, [])
    for length, number in sorted(counts.items(), reverse=True):
        waiting = number
        while waiting:
            first = bisect_left(packs.rooms, length)
            is_new = first == len(packs.rooms)
            room = capacity if is_new else packs.rooms[choose(packs.rooms, first)]
            group = PackGroup((), waiting) if is_new else packs.take(room)
            many = fill_up or not (is_new or length)  # a document of no slot leaves the emptiest pack the emptiest
            each = min(waiting, most - len(group.lengths), room // length if length else waiting) if many else 1
            n_packs = min(group.count, waiting // each)
            if n_packs < group.count and not is_new:
                packs.put(room, PackGroup(group.lengths, group.count - n_packs))
            filled = PackGroup(group.lengths + (length,) * each, n_packs)
            if len(filled.lengths) == most:
                closed.append(filled)
            else:
                packs.put(room - each * length, filled)
            waiting -= n_packs * each
    return (*(group for room in packs.rooms for group in packs.groups[room]), *closed)


def _check(counts: Counts, capacity: int, most_documents: int | None) -> None:
    if capacity < 1:
        raise PackingError("capacity", capacity, "must be at least 1")
    if most_documents is not None and most_documents < 1:
        raise PackingError("most_documents", most_documents, "must be at least 1, or None")
    for length, number in counts.items():
        if not 0 <= length <= capacity:
            raise PackingError("counts", length, f"must hold lengths from 0 to the capacity of {capacity} slots")
        if number < 0:
            raise PackingError("counts", number, f"must not be negative, as it is for length {length}")
