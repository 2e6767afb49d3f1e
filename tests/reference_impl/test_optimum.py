"""The exact optimum: known cases, a solver of another kind, and instances that it gives up on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ortools.sat.python import cp_model

from reference_impl.bins import best_fit_decreasing, first_fit_decreasing
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.lengths import LARGEST
from reference_impl.optimum import lower_bound, minimum_bins, optimal_bins

NEEDS_SEARCH = [
    ([6, 6, 6, 5, 4, 4, 3, 2], 12, 3),
    ([7, 6, 5, 5, 4, 4, 3, 2], 12, 3),
    ([15, 11, 11, 11, 9, 8, 8, 7], 28, 3),
    ([17, 16, 8, 8, 8, 6, 5, 5], 37, 2),
    ([9, 9, 8, 5, 5, 3, 3, 3, 2], 16, 3),
]
"""Lengths that both longest-first rules pack into one bin too many."""


def by_solver(lengths: list[int], capacity: int) -> int:
    """The optimum by constraint programming: which bin, and whether it is used."""
    model = cp_model.CpModel()
    most = len(lengths)
    used = [model.new_bool_var(f"used{b}") for b in range(most)]
    inside = [[model.new_bool_var(f"{i}in{b}") for b in range(most)] for i in range(most)]
    for choices in inside:
        model.add_exactly_one(choices)
    for b in range(most):
        model.add(sum(length * inside[i][b] for i, length in enumerate(lengths)) <= capacity * used[b])
    for b in range(most - 1):
        model.add_implication(used[b + 1], used[b])
    model.minimize(sum(used))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


@pytest.mark.parametrize(("lengths", "capacity", "optimum"), NEEDS_SEARCH)
def test_the_optimum_is_found_where_greedy_rules_miss_it(lengths: list[int], capacity: int, optimum: int) -> None:
    """Lengths that fill their bins to the last slot, in ways that the longest-first rules do not find."""
    assert minimum_bins(np.array(lengths), capacity) == optimum == by_solver(lengths, capacity)


@pytest.mark.parametrize(("lengths", "capacity", "optimum"), NEEDS_SEARCH)
def test_greedy_rules_miss_them(lengths: list[int], capacity: int, optimum: int) -> None:
    """Otherwise nothing is searched for."""
    assert len(first_fit_decreasing(np.array(lengths), capacity)) > optimum
    assert len(best_fit_decreasing(np.array(lengths), capacity)) > optimum


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_is_that_of_a_solver(seed: int) -> None:
    """Branch and bound and constraint programming agree on drawn instances."""
    stream = np.random.RandomState(seed)
    capacity = int(stream.randint(5, 40))
    lengths = stream.randint(1, capacity + 1, size=stream.randint(1, 11))
    assert minimum_bins(lengths, capacity) == by_solver(lengths.tolist(), capacity)


@pytest.mark.parametrize("seed", range(60))
def test_optimal_bins_hold_the_lengths_and_are_no_fewer_than_the_bound(seed: int) -> None:
    """The packing behind the number is one, zeros included."""
    stream = np.random.RandomState(1000 + seed)
    capacity = int(stream.randint(5, 40))
    lengths = np.concatenate(
        [stream.randint(0, capacity + 1, size=4), stream.randint(0, capacity // 2 + 1, size=stream.randint(0, 14))]
    )
    bins = optimal_bins(lengths, capacity)
    assert sorted(length for held in bins for length in held) == sorted(lengths.tolist())
    assert all(len(held) > 0 and sum(held) <= capacity for held in bins)
    assert lower_bound(lengths, capacity) <= len(bins) <= len(first_fit_decreasing(lengths, capacity))


@pytest.mark.parametrize(
    ("lengths", "bound"),
    [
        ([5, 5, 5], 3),
        ([8, 8], 2),
        ([4, 4, 4], 2),
        ([6, 6, 3, 3], 3),
        ([5, 3, 3, 3], 2),
        ([6, 2], 1),
        ([7, 7, 3, 3, 3], 4),
        ([1], 1),
        ([], 0),
    ],
)
def test_the_bound_sees_what_the_sum_does_not(lengths: list[int], bound: int) -> None:
    """Lengths above half of the 8 slots need a bin each, and may leave room for nothing else."""
    assert lower_bound(np.array(lengths, dtype=np.int64), 8) == bound


@pytest.mark.parametrize(
    ("lengths", "capacity", "bound"),
    [
        ([2**62] * 3, 2**63 - 1, 3),  # each above the half
        ([2**61] * 9, 2**63 - 1, 3),  # three of them in a bin
        ([2**61 + 1] * 5 + [1], 2**62, 5),  # which leave more than 2**63 slots free
    ],
)
def test_the_bound_is_right_where_sums_exceed_64_bits(lengths: list[int], capacity: int, bound: int) -> None:
    """A capacity may be as large as int64 allows."""
    assert lower_bound(np.array(lengths), capacity) == bound


@pytest.mark.parametrize(("lengths", "bins"), [([], ()), ([0, 0], ((0, 0),)), ([3, 0], ((3, 0),))])
def test_zeros_need_a_bin_only_when_there_is_nothing_else(
    lengths: list[int], bins: tuple[tuple[int, ...], ...]
) -> None:
    """A document that fills no slot rides along."""
    assert optimal_bins(np.array(lengths, dtype=np.int64), 8) == bins


@pytest.mark.parametrize(
    ("lengths", "capacity", "optimum", "decisions"),
    [
        *((lengths, capacity, optimum, 8) for lengths, capacity, optimum in NEEDS_SEARCH[:4]),
        (*NEEDS_SEARCH[4], 12),
        ([18, 17, 16, 15, 10, 10, 9, 8, 7, 6, 3], 30, 5, 23),  # the bound is 4, and every way to 4 is ruled out
    ],
)
def test_the_search_decides_no_more_than_it_must(
    lengths: list[int], capacity: int, optimum: int, decisions: int
) -> None:
    """What cannot be better is not looked at; one decision less, and there is no answer.

    The unit of lengths and capacity does not matter, not even where their sum exceeds 64 bits.
    """
    for unit in (1, LARGEST // capacity):
        large = np.array(lengths) * unit
        assert minimum_bins(large, capacity * unit, most_nodes=decisions) == optimum
        with pytest.raises(PackingError, match=f"lengths = '{len(lengths)} lengths': are too many"):
            minimum_bins(large, capacity * unit, most_nodes=decisions - 1)


def test_nothing_is_decided_where_a_greedy_packing_is_as_few_as_can_be() -> None:
    """First fit decreasing packs 103 slots into 4 bins of 26, best fit decreasing needs a fifth."""
    lengths = np.array([18, 17, 14, 11, 10, 10, 9, 4, 4, 3, 3])
    assert len(best_fit_decreasing(lengths, 26)) == 5
    assert optimal_bins(lengths, 26, most_nodes=0) == ((18, 4, 4), (17, 9), (14, 11), (10, 10, 3, 3))


def test_zeros_are_not_searched_for() -> None:
    """They ride in the first bin of what is found without them."""
    lengths, capacity, _ = NEEDS_SEARCH[0]
    assert optimal_bins(np.array([0, *lengths, 0]), capacity) == ((6, 6, 0, 0), (6, 4, 2), (5, 4, 3))


@pytest.mark.parametrize("refuse", [lower_bound, minimum_bins, optimal_bins])
@pytest.mark.parametrize(
    ("lengths", "capacity", "argument", "value"),
    [([], 0, "capacity", 0), ([0], 0, "capacity", 0), ([9, 3], 8, "lengths", 9), ([0, -1], 8, "lengths", -1)],
)
def test_what_no_bin_can_hold_is_named(
    refuse: Callable[[IntArray, int], object], lengths: list[int], capacity: int, argument: str, value: int
) -> None:
    """As first fit does, also where there is nothing to search for."""
    with pytest.raises(PackingError) as raised:
        refuse(np.array(lengths, dtype=np.int64), capacity)
    assert (raised.value.argument, raised.value.value) == (argument, value)


def test_a_search_without_end_is_given_up() -> None:
    """The error names what was too hard."""
    with pytest.raises(PackingError, match="8 lengths"):
        minimum_bins(np.array([6, 6, 6, 5, 4, 4, 3, 2]), 12, most_nodes=2)
