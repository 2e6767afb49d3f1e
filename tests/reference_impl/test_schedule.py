"""Schedules: figures of Megatron-Core where they are right, other ones where they are not, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from reference_impl.errors import PackingError
from reference_impl.ranks import Assignment
from reference_impl.schedule import balance, padded_for, schedule


def sizes(lengths: list[int], ranks: int, limit: int) -> list[list[tuple[int, int]]]:
    """Sample and CP size, by group."""
    groups = schedule(np.array(lengths), ranks, limit)
    return [[(assignment.sample, len(assignment.ranks)) for assignment in group] for group in groups]


@pytest.mark.parametrize(
    ("ranks", "lengths", "expected"),
    [
        (4, [8, 8, 8, 8], [[(0, 1), (1, 1), (2, 1), (3, 1)]]),
        (4, [16, 8, 8], [[(0, 2), (1, 1), (2, 1)]]),
        (4, [8], [[(0, 4)]]),
        (4, [8] * 5, [[(0, 1), (1, 1), (2, 1), (3, 1)], [(4, 4)]]),
        (8, [64, 16, 8, 8], [[(0, 8)], [(1, 4), (2, 2), (3, 2)]]),
        (8, [8, 64, 16, 8], [[(1, 8)], [(2, 4), (0, 2), (3, 2)]]),
        (1, [3, 8], [[(1, 1)], [(0, 1)]]),
    ],
)
def test_cp_sizes_are_those_of_the_upstream_scheduler(
    ranks: int, lengths: list[int], expected: list[list[tuple[int, int]]]
) -> None:
    """Megatron-Core ``BalancedCPScheduler``, limit 8; the first five were run there."""
    assert sizes(lengths, ranks, 8) == expected


@pytest.mark.parametrize(
    ("length", "size"), [(1, 1), (7, 1), (8, 1), (9, 2), (16, 2), (17, 4), (24, 4), (33, 8), (64, 8)]
)
def test_a_sample_needs_the_next_power_of_two(length: int, size: int) -> None:
    """Eight samples of one token behind it keep it from being widened."""
    groups = schedule(np.array([length, *[1] * 8]), 8, 8)
    needed = {at.sample: len(at.ranks) for group in groups for at in group}
    assert needed[0] == size


def test_samples_are_padded_for_the_size_that_widening_gives() -> None:
    """B25: 10 slots on 4 ranks need a multiple of 8."""
    assert schedule(np.array([10]), 4, 8) == ((Assignment(0, (0, 1, 2, 3), 16),),)
    assert [at.slots for at in schedule(np.array([9, 1]), 4, 8)[0]] == [12, 4]


def test_an_odd_limit_counts_the_padding() -> None:
    """14 tokens are 7 on each of 2 ranks, but chunks need 16 slots, so a limit of 7 takes 4 ranks."""
    assert padded_for(14, 2) == 16
    assert sizes([14, 7, 7, 7, 7], 4, 7)[0] == [(0, 4)]


def test_a_limit_of_one_slot_is_enough_for_a_token() -> None:
    assert sizes([1, 1], 2, 1) == [[(0, 1), (1, 1)]]


def test_no_sample_needs_no_group() -> None:
    assert schedule(np.array([], dtype=np.int64), 4, 8) == ()


@pytest.mark.parametrize("ranks", [0, -1, 3, 6, 12])
def test_other_numbers_of_ranks_are_refused(ranks: int) -> None:
    with pytest.raises(PackingError, match=f"ranks = {ranks}: must be a power of two"):
        schedule(np.array([8]), ranks, 8)


def test_a_limit_below_1_is_refused() -> None:
    with pytest.raises(PackingError, match="limit = 0"):
        schedule(np.array([8]), 2, 0)


def test_a_sample_beyond_all_ranks_is_refused() -> None:
    with pytest.raises(PackingError, match="lengths = 17: must fit on 2 ranks of at most 8 slots"):
        schedule(np.array([3, 17]), 2, 8)


@pytest.mark.parametrize(
    ("lengths", "limit", "context", "replicas", "packs"),
    [
        ([2, 2, 3, 1], 4, 1, 1, [[0, 1], [2, 3]]),
        ([4] * 7, 4, 2, 2, [[0, 1], [2, 3], [4, 5], [6]]),
        ([1, 1, 1, 1], 4, 1, 2, [[0, 1], [2, 3]]),
        ([6, 6, 4], 8, 2, 1, [[0, 1, 2]]),  # SL-03
        ([0, 0], 4, 1, 2, [[0], [1]]),
        ([], 4, 1, 3, []),
    ],
)
def test_packs_are_filled_in_order_and_come_out_even(
    lengths: list[int], limit: int, context: int, replicas: int, packs: list[list[int]]
) -> None:
    found = balance(np.array(lengths, dtype=np.int64), limit, context, replicas)
    assert [list(pack) for pack in found] == packs


@pytest.mark.parametrize(
    ("lengths", "arguments", "message"),
    [
        ([5], (4, 1, 1), "lengths = 5: must fit into a pack of 4 tokens"),
        ([2], (4, 1, 2), "at least 2 samples for 2 replicas"),
        ([4, 4, 4], (4, 1, 2), "at least 4 samples"),
        ([1], (0, 1, 1), "limit = 0"),
        ([1], (4, 0, 1), "context = 0"),
        ([1], (4, 1, 0), "replicas = 0"),
        ([-1], (4, 1, 1), "-1"),
    ],
)
def test_impossible_balances_are_refused(lengths: list[int], arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(PackingError, match=message):
        balance(np.array(lengths), *arguments)
