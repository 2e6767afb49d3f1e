"""Fast packers against the rules word for word, drawn and adversarial."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties.law import ALL_CHECKS
from reference_impl import bins, first_fit, naive_bins
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.first_fit import compiled, group_by_bin, place_first_fit

DRAWS = settings(deadline=None, database=None, derandomize=True, suppress_health_check=ALL_CHECKS)
FEW, MANY = 300, 10_000

ADVERSARIAL = {
    "no length": ([], 8),
    "capacity 1": ([1, 0, 1, 1, 0, 0, 1], 1),
    "all equal": ([3] * 50, 8),
    "all of the capacity": ([8] * 33, 8),
    "all zero": ([0] * 20, 8),
    "zeros after full bins": ([8, 8, 0, 8, 0, 0], 8),
    "descending": (list(range(64, 0, -1)), 64),
    "ascending": (list(range(65)), 64),
    "one more bin than a power of two": ([5] * 17, 8),
    "two that fill a bin exactly": ([7, 1] * 20, 8),
    "an immense capacity": ([2**62, 2**62 - 1, 2**62, 5], 2**63 - 1),
}


@st.composite
def _cases(draw: st.DrawFn) -> tuple[list[int], int]:
    capacity = draw(st.integers(1, 70))
    length = st.integers(0, capacity) | st.sampled_from((0, 1, capacity // 2, capacity // 3 + 1, capacity))
    return draw(st.lists(length, max_size=40)), capacity


def _agree(lengths: list[int], capacity: int, seed: int) -> None:
    array = np.array(lengths, dtype=np.int64)
    assert bins.first_fit(array, capacity) == naive_bins.naive_first_fit(lengths, capacity)
    assert bins.first_fit_decreasing(array, capacity) == naive_bins.naive_first_fit_decreasing(lengths, capacity)
    assert bins.first_fit_shuffle(array, capacity, seed) == naive_bins.naive_first_fit_shuffle(lengths, capacity, seed)
    assert bins.best_fit_decreasing(array, capacity) == naive_bins.naive_best_fit_decreasing(lengths, capacity)


@settings(DRAWS, max_examples=FEW)
@given(case=_cases(), seed=st.integers(0, 2**32 - 1))
def test_fast_bins_are_those_of_the_naive_rules(case: tuple[list[int], int], seed: int) -> None:
    """Same bins in the same order, and the same lengths in the same order inside."""
    _agree(*case, seed)


@pytest.mark.deep
@pytest.mark.timeout(1800)
@settings(DRAWS, max_examples=MANY)
@given(case=_cases(), seed=st.integers(0, 2**32 - 1))
def test_fast_bins_are_those_of_the_naive_rules_in_ten_thousand_cases(case: tuple[list[int], int], seed: int) -> None:
    """As above, many times."""
    _agree(*case, seed)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_fast_bins_are_those_of_the_naive_rules_on_adversarial_lengths(name: str) -> None:
    """Capacities and lengths where an index over bins goes wrong first."""
    _agree(*ADVERSARIAL[name], seed=1)


@pytest.mark.slow
def test_compiled_first_fit_is_the_python_it_was_made_from() -> None:
    """Machine code and Python place 3,000 drawn lists and the adversarial ones alike."""
    place, group = compiled()
    stream = np.random.default_rng(0)
    drawn = [(stream.integers(0, capacity + 1, size=capacity % 90), capacity) for capacity in range(1, 3000)]
    known = [(np.array(lengths, dtype=np.int64), capacity) for lengths, capacity in ADVERSARIAL.values()]
    for lengths, capacity in (*drawn, *known):
        bin_of = place_first_fit(lengths, capacity)
        np.testing.assert_array_equal(place(lengths, capacity, np.uint64(1)), bin_of)
        for found, expected in zip(group(lengths, bin_of), group_by_bin(lengths, bin_of), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_many_lengths_are_placed_by_compiled_code_and_few_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size decides, so that a small packing never waits for a compiler; nodes are counted without signs."""
    given: list[tuple[int, int, np.dtype]] = []

    def in_one_bin(lengths: IntArray, capacity: int, one: np.integer) -> IntArray:
        given.append((capacity, int(one), one.dtype))
        return np.zeros_like(lengths)

    monkeypatch.setattr(first_fit, "compiled", lambda: (in_one_bin, group_by_bin))
    few = np.ones(first_fit.COMPILED_FROM - 1, dtype=np.int64)
    many = np.ones(first_fit.COMPILED_FROM, dtype=np.int64)
    assert bins.flat_first_fit(few, 1).bounds.size == few.size + 1
    assert given == []
    assert bins.flat_first_fit(many, 1).bounds.size == 2
    assert given == [(1, 1, np.dtype(np.uint64))]


def test_what_is_compiled_is_what_small_inputs_run() -> None:
    """There is one implementation, not two."""
    assert [function.py_func for function in compiled()] == [place_first_fit, group_by_bin]  # type: ignore[attr-defined]


def test_flat_bins_are_the_nested_ones() -> None:
    """The array form holds the bins one behind another."""
    flat = bins.flat_first_fit(np.array([5, 3, 4, 4, 2, 7]), 8)
    assert flat.lengths.tolist() == [5, 3, 4, 4, 2, 7]
    assert flat.bounds.tolist() == [0, 2, 4, 5, 6]
    nested: Bins = ((5, 3), (4, 4), (2,), (7,))
    assert flat.nested() == nested


@pytest.mark.parametrize("algorithm", Algorithm)
def test_flat_bins_are_the_nested_ones_of_every_algorithm(algorithm: Algorithm) -> None:
    """Bin by bin, as int64 arrays; none for no lengths."""
    lengths = np.array([5, 3, 4, 4, 2, 7, 0])
    flat, nested = bins.flat_bins(lengths, 8, algorithm, 1), bins.assign_bins(lengths, 8, algorithm, 1)
    assert flat.lengths.tolist() == [length for held in nested for length in held]
    assert flat.bounds.tolist() == [sum(map(len, nested[:number])) for number in range(len(nested) + 1)]
    assert {flat.lengths.dtype, flat.bounds.dtype} == {np.dtype(np.int64)}
    assert flat.nested() == nested
    empty = bins.flat_bins(lengths[:0], 8, algorithm, 1)
    assert (empty.lengths.dtype, empty.lengths.size, empty.bounds.tolist()) == (np.int64, 0, [0])
