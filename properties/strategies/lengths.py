"""Capacities, lengths and bins where packers go wrong: at the capacity and its fractions, beside powers of two.

All lengths are runtime lengths (slots). ``parted`` lets a law take several inputs that fit each other. A part whose
arguments change with every example is a function that takes ``draw``: Hypothesis would make and check a strategy anew.
What is asked for twice is one strategy: laws that draw alike have the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.strategies.choices import one_of
from reference_impl.documents import Algorithm, IntArray

FIRST_FITS = (Algorithm.FIRST_FIT, Algorithm.FIRST_FIT_DECREASING, Algorithm.FIRST_FIT_SHUFFLE)

algorithms: SearchStrategy[Algorithm] = st.sampled_from(FIRST_FITS)
"""First fit in its three orders, which trainers have in common."""

packing_algorithms: SearchStrategy[Algorithm] = st.sampled_from(
    (*FIRST_FITS, *FIRST_FITS, Algorithm.BEST_FIT_DECREASING, Algorithm.SHORTEST_PACK_FIRST)
)
"""Algorithms of whole packing runs, whose laws hold for any; some packers have one of the last two alone."""

fuller_algorithms: SearchStrategy[Algorithm] = st.sampled_from(
    (Algorithm.BEST_FIT_DECREASING, Algorithm.SHORTEST_PACK_FIRST, Algorithm.LONGEST_PACK_FIRST)
)
"""Best fit and the histogram packers; laws on them are apart, because many targets have none of these."""

seeds: SearchStrategy[int] = st.integers(0, 2**31 - 1)

multiples: SearchStrategy[int] = st.sampled_from((2, 4, 8, 3, 6, 12))
"""What documents are padded to: 2 * CP, lcm(2 * CP, CP * TP), and odd ones."""

unpadded: SearchStrategy[int] = st.just(1)
"""The multiple that asks for no padding."""

_POWERS_AND_CP_MULTIPLES = (2, 4, 8, 12, 16, 24, 32, 48, 64)


def parted[A, B](both: SearchStrategy[tuple[A, B]]) -> tuple[SearchStrategy[A], SearchStrategy[B]]:
    """Two strategies that draw the halves of one pair.

    Example:
        _lengths, _capacity = parted(lengths_and_capacity())

        @given(lengths=_lengths, capacity=_capacity)
        def test(lengths, capacity): ...  # no length exceeds the capacity
    """
    return _part(both, 0), _part(both, 1)


def parted3[A, B, C](
    all_three: SearchStrategy[tuple[A, B, C]],
) -> tuple[SearchStrategy[A], SearchStrategy[B], SearchStrategy[C]]:
    """As ``parted``, for three."""
    return _part(all_three, 0), _part(all_three, 1), _part(all_three, 2)


@cache
def _part(group: SearchStrategy[Any], place: int) -> SearchStrategy[Any]:
    return _drawn_once(group).map(itemgetter(place))


@cache
def _drawn_once(group: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.shared(group)


@cache
def capacities(smallest: int = 4, largest: int = 64) -> SearchStrategy[int]:
    """Capacities, with powers of two, their neighbours and multiples of CP sizes often among them."""
    return st.sampled_from(awkward(largest, smallest)) | st.integers(smallest, largest)


@cache
def awkward(capacity: int, smallest: int = 1) -> tuple[int, ...]:
    """Lengths that go wrong first, ascending: near capacity / k, powers of two and CP multiples +-1, the extremes.

    Args:
        capacity: the largest of them.
        smallest: the smallest of them.
    """
    centres = {capacity // k for k in (1, 2, 3, 4)} | set(_POWERS_AND_CP_MULTIPLES) | {smallest}
    near = {centre + offset for centre in centres for offset in (-1, 0, 1)}
    return tuple(sorted(length for length in near if smallest <= length <= capacity))


@cache
def awkward_lengths(capacity: int, smallest: int = 1) -> SearchStrategy[int]:
    """One of the ``awkward`` lengths."""
    return st.sampled_from(awkward(capacity, smallest))


@cache
def lengths_up_to(capacity: int, smallest: int = 1) -> SearchStrategy[int]:
    """One length, often an ``awkward`` one."""
    return awkward_lengths(capacity, smallest) | st.integers(smallest, capacity)


_kinds = st.sampled_from(("any", "awkward", "equal", "exact", "one over"))


def draw_lengths(
    draw: st.DrawFn, capacity: int, *, smallest: int = 1, fewest: int = 1, most: int = 8, multiple: int = 1
) -> list[int]:
    """Lengths that each fit: any, awkward, all equal, or in groups that fill a bin or exceed it by one slot.

    Args:
        draw: given by Hypothesis.
        capacity: largest length.
        smallest: smallest length.
        fewest: fewest lengths.
        most: most lengths.
        multiple: what lengths and groups are padded to; groups fill the last multiple within ``capacity``.
    """
    limit = capacity // multiple * multiple
    kind = draw(_kinds)
    if kind == "any":
        return draw(st.lists(lengths_up_to(limit, smallest), min_size=fewest, max_size=most))
    if kind == "awkward":
        return draw(st.lists(awkward_lengths(limit, smallest), min_size=fewest, max_size=most))
    if kind == "equal":
        return [draw(lengths_up_to(limit, smallest))] * draw(st.integers(fewest, most))
    wanted = draw(st.lists(st.integers(smallest, limit), min_size=1, max_size=most))
    filling = _filling(limit + 1 if kind == "one over" and limit > 1 else limit, wanted, smallest)
    first = draw(st.integers(0, len(filling) - 1))
    repeated = [*filling[first:], *filling[:first]] * max(1, -(-fewest // len(filling)))
    return repeated[: max(most, fewest)]


def _filling(total: int, wanted: Sequence[int], smallest: int) -> list[int]:
    """``wanted`` lengths as far as they go, and a last one so that they add up to ``total``; two if that can be."""
    if total < 2:
        return [total]
    group = [min(max(wanted[0], 1), total - 1)]
    free = total - group[0]
    for length in wanted[1:]:
        if free - length < smallest:
            break
        group.append(length)
        free -= length
    return [*group, free]


@cache
@st.composite
def lengths_and_capacity(
    draw: st.DrawFn, *, smallest: int = 1, fewest: int = 1, most: int = 8
) -> tuple[IntArray, int]:
    """Lengths (n,) and a capacity that holds each of them."""
    capacity = draw(capacities())
    return as_array(draw_lengths(draw, capacity, smallest=smallest, fewest=fewest, most=most)), capacity


@cache
@st.composite
def with_a_zero(draw: st.DrawFn, pairs: SearchStrategy[tuple[IntArray, int]]) -> tuple[IntArray, int]:
    """Lengths (n,) and a capacity, a zero among the lengths."""
    lengths, capacity = draw(pairs)
    return np.insert(lengths, draw(st.integers(0, len(lengths))), 0), capacity


@cache
@st.composite
def graded_lengths_and_capacity(draw: st.DrawFn, *, most: int = 12) -> tuple[IntArray, int]:
    """Large, middle and small lengths (n,), 5 or more: several open bins have room for a small one, and not the same.

    These tell first fit from best fit, which other lengths hardly do.
    """
    capacity = draw(capacities(smallest=12))
    large = draw(st.lists(st.integers(capacity // 2, capacity - 1), min_size=2, max_size=most // 3))
    middle = draw(st.lists(st.integers(capacity // 4, capacity // 2), min_size=1, max_size=most // 3))
    small = draw(st.lists(st.integers(1, max(2, capacity // 6)), min_size=2, max_size=most // 3))
    return as_array([*large, *middle, *small]), capacity


@cache
@st.composite
def overlong_lengths_and_capacity(draw: st.DrawFn) -> tuple[IntArray, int]:
    """Lengths (n,) and a capacity; at least one length exceeds it, by one slot or by far."""
    capacity = draw(capacities())
    fitting = draw_lengths(draw, capacity, fewest=0, most=5)
    beyond = draw(one_of((capacity + 1, capacity + 2, 2 * capacity, 3 * capacity + 1)))
    position = draw(st.integers(0, len(fitting)))
    return as_array([*fitting[:position], beyond, *fitting[position:]]), capacity


@cache
@st.composite
def counts_and_capacity(draw: st.DrawFn, *, smallest: int = 1) -> tuple[IntArray, int]:
    """A histogram (max_length + 1,) with at least one document, and a capacity that holds the longest."""
    lengths, capacity = draw(lengths_and_capacity(smallest=smallest))
    beyond = draw(one_of((0, 1, 5)))
    return np.bincount(lengths, minlength=int(lengths.max()) + 1 + beyond).astype(np.int64), capacity


def as_array(lengths: Sequence[int]) -> IntArray:
    """Lengths as operations take them."""
    return np.asarray(lengths, dtype=np.int64)
