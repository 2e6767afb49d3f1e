"""First fit: goldens of Megatron Bridge (specification, sections 2.1-2.3 and 9) and the naive rule."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from reference_impl.bins import (
    assign_bins,
    first_fit,
    first_fit_decreasing,
    first_fit_shuffle,
)
from reference_impl.documents import Algorithm, Bins
from reference_impl.errors import PackingError
from reference_impl.lengths import checked_lengths, random_stream

LENGTHS = np.array([5, 3, 4, 4, 2, 7])


def test_first_fit_keeps_the_given_order() -> None:
    assert first_fit(LENGTHS, 8) == ((5, 3), (4, 4), (2,), (7,))


def test_first_fit_decreasing_places_the_longest_first() -> None:
    assert first_fit_decreasing(LENGTHS, 8) == ((7,), (5, 3), (4, 4), (2,))


def test_first_fit_decreasing_is_not_best_fit_decreasing() -> None:
    assert first_fit_decreasing(np.array([8, 6, 3, 1]), 10) == ((8, 1), (6, 3))  # TR-04


@pytest.mark.parametrize(
    ("seed", "bins"),
    [(0, ((7,), (4, 3), (4, 2), (5,))), (1234, ((4, 3), (7,), (5, 2), (4,)))],
)
def test_first_fit_shuffle_draws_like_megatron_bridge(seed: int, bins: Bins) -> None:
    assert first_fit_shuffle(LENGTHS, 8, seed) == bins


def test_shuffle_neither_reads_nor_moves_the_global_random_state() -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first_fit_shuffle(LENGTHS, 8, 0)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_lengths_are_not_changed() -> None:
    lengths = LENGTHS.copy()
    first_fit_shuffle(lengths, 8, 0)
    assert lengths.tolist() == LENGTHS.tolist()


def test_zero_lengths_fit_into_a_full_bin() -> None:
    assert first_fit(np.array([8, 0, 0]), 8) == ((8, 0, 0),)


def test_no_lengths_need_no_bins() -> None:
    assert first_fit(np.array([], dtype=np.int64), 8) == ()


def test_a_hundred_thousand_lengths_are_placed_in_seconds() -> None:
    lengths = np.random.RandomState(0).randint(1, 2048, size=100_000)
    assert sum(len(b) for b in first_fit(lengths, 2048)) == lengths.size


@pytest.mark.parametrize(
    ("algorithm", "bins"),
    [
        (Algorithm.FIRST_FIT, ((5, 3), (4, 4), (2,), (7,))),
        (Algorithm.FIRST_FIT_DECREASING, ((7,), (5, 3), (4, 4), (2,))),
        (Algorithm.FIRST_FIT_SHUFFLE, ((7,), (4, 3), (4, 2), (5,))),
        (Algorithm.BEST_FIT_DECREASING, ((7,), (5, 3), (4, 4), (2,))),
        (Algorithm.LONGEST_PACK_FIRST, ((4, 4), (5, 3), (7,), (2,))),
        (Algorithm.SHORTEST_PACK_FIRST, ((7,), (4, 3), (4, 2), (5,))),
    ],
)
def test_the_algorithm_is_chosen_by_name(algorithm: Algorithm, bins: Bins) -> None:
    assert assign_bins(LENGTHS, 8, algorithm, 0) == bins


def test_an_unknown_algorithm_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PackingError, match="first_fit, first_fit_decreasing, first_fit_shuffle"):
        assign_bins(LENGTHS, 8, "next_fit", 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lengths", "capacity", "argument", "value"),
    [
        ([8, 12, 3], 8, "lengths", 12),
        ([0, -1], 8, "lengths", -1),
        ([3], 0, "capacity", 0),
        ([3], 2**63, "capacity", 2**63),
    ],
)
def test_a_length_that_no_bin_can_hold_is_named(lengths: list[int], capacity: int, argument: str, value: int) -> None:
    """The first one that is wrong, by whatever algorithm."""
    for refuse in (first_fit, *(partial(assign_bins, algorithm=algorithm, seed=0) for algorithm in Algorithm)):
        with pytest.raises(PackingError) as raised:
            refuse(np.array(lengths), capacity)
        assert (raised.value.argument, raised.value.value) == (argument, value)


def test_checking_copies_nothing_that_is_right_already() -> None:
    """Millions of lengths are checked more than once on their way."""
    lengths = np.array([3, 0])
    assert checked_lengths(lengths) is lengths
    assert checked_lengths(lengths.astype(np.int16)).dtype == np.int64


@pytest.mark.parametrize("lengths", [np.array([1.5]), np.array([True]), np.array([[1]]), np.array(["1"])])
def test_lengths_must_be_a_row_of_integers(lengths: np.ndarray) -> None:
    with pytest.raises(PackingError, match="one-dimensional array of integers"):
        checked_lengths(lengths)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_has_32_bits(seed: int) -> None:
    with pytest.raises(PackingError, match="seed"):
        random_stream(seed)
