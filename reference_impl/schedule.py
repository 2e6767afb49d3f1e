"""Which ranks work on which samples.

Hybrid (dynamic) context parallelism gives every sample a CP size of its own, a power of two, so that short samples are
not cut and long ones fit. Four ranks, at most 8 slots per rank, samples of 16, 8 and 8 tokens:

    rank       0   1   2   3
    sample     0   0   1   2

Sizes come in descending order, so the ranks of a time step are filled without gaps. Where samples run out, the CP
groups of the last step are widened until no rank is idle. Samples are padded for the CP size that they really get.

Balance gives every data-parallel replica the same number of packs, with samples in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference_impl.bins import checked_lengths
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.ranks import Assignment, Group


def schedule(lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
    """Groups of samples of ``lengths`` (n,) over ``ranks`` ranks with at most ``limit`` slots each.

    In every group, each rank works on exactly one sample.

    Raises:
        PackingError: a length is negative, ``ranks`` is no power of two, ``limit`` is below 1, or a sample needs more
            ranks than there are.
    """
    if ranks < 1 or ranks & (ranks - 1):
        raise PackingError("ranks", ranks, "must be a power of two, as CP sizes are")
    if limit < 1:
        raise PackingError("limit", limit, "must be at least 1")
    samples = [int(length) for length in checked_lengths(lengths)]
    sizes = [_cp_size(length, ranks, limit) for length in samples]
    waiting = sorted(range(len(samples)), key=lambda sample: (-sizes[sample], -samples[sample]))
    groups: list[Group] = []
    while waiting:
        taken = int(np.searchsorted(np.cumsum([sizes[sample] for sample in waiting]), ranks, side="right"))
        chosen, waiting = waiting[:taken], waiting[taken:]
        widths = _widened([sizes[sample] for sample in chosen], [samples[sample] for sample in chosen], ranks)
        starts = np.cumsum([0, *widths]).tolist()
        groups.append(
            tuple(
                Assignment(sample, tuple(range(start, start + width)), padded_for(samples[sample], width))
                for sample, start, width in zip(chosen, starts[:-1], widths, strict=True)
            )
        )
    return tuple(groups)


def padded_for(length: int, context: int) -> int:
    """Slots of a sample under a CP size: a multiple of twice the size, or just its length where it is not cut."""
    return length if context == 1 else -(-length // (2 * context)) * 2 * context


def balance(lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
    """Packs of samples in order, equally many for each of ``replicas`` data-parallel replicas.

    A pack holds at most ``limit * context`` tokens, because the ranks of a CP group share it. Packs are as few as
    possible: those that in-order filling gives, and then as many more as make their number a multiple of ``replicas``,
    which the longest runs of samples are split for.

    Raises:
        PackingError: an argument is below 1, a length is negative or above a pack's capacity, or there are too few
            samples for every replica to have one.
    """
    for name, value in (("limit", limit), ("context", context), ("replicas", replicas)):
        if value < 1:
            raise PackingError(name, value, "must be at least 1")
    samples = [int(length) for length in checked_lengths(lengths)]
    packs = _filled_in_order(samples, limit * context)
    missing = -len(packs) % replicas
    if len(packs) + missing > len(samples):
        requirement = f"must hold at least {len(packs) + missing} samples for {replicas} replicas to have a pack each"
        raise PackingError("lengths", samples, requirement)
    for _ in range(missing):
        longest = max(range(len(packs)), key=lambda number: len(packs[number]))
        middle = len(packs[longest]) // 2
        packs[longest : longest + 1] = [packs[longest][:middle], packs[longest][middle:]]
    return tuple(tuple(pack) for pack in packs)


def _cp_size(length: int, ranks: int, limit: int) -> int:
    """Fewest ranks, a power of two, on which a sample has at most ``limit`` slots each."""
    size = 1
    while padded_for(length, size) > limit * size:
        size *= 2
        if size > ranks:
            raise PackingError("lengths", length, f"must fit on {ranks} ranks of at most {limit} slots each")
    return size


def _widened(sizes: Sequence[int], lengths: Sequence[int], ranks: int) -> list[int]:
    """CP sizes that fill all ranks: the smallest, and of those the one with most to do, is doubled again and again.

    Sizes are powers of two that add up to less than ``ranks``, which is one too; so the smallest divides what is left.
    """
    widths = list(sizes)
    while sum(widths) < ranks:
        widest = min(range(len(widths)), key=lambda place: (widths[place], -lengths[place]))
        widths[widest] *= 2
    return widths


def _filled_in_order(samples: Sequence[int], capacity: int) -> list[list[int]]:
    """Samples by pack, a new pack being started where the next sample does not fit."""
    packs: list[list[int]] = []
    load = 0
    for sample, length in enumerate(samples):
        if length > capacity:
            raise PackingError("lengths", length, f"must fit into a pack of {capacity} tokens")
        if not packs or load + length > capacity:
            packs.append([])
            load = 0
        packs[-1].append(sample)
        load += length
    return packs
