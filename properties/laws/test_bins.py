"""Lengths in bins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.readings import ambient_random, random_state
from properties.strategies.lengths import (
    algorithms,
    as_array,
    capacities,
    graded_lengths_and_capacity,
    lengths_and_capacity,
    overlong_lengths_and_capacity,
    parted,
    seeds,
    with_a_zero,
)
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.interface import Implementation, Op

_lengths, _capacity = parted(lengths_and_capacity())
_lengths_with_zeros, _capacity_of_zeros = parted(
    lengths_and_capacity(smallest=0) | with_a_zero(lengths_and_capacity())
)
_overlong_lengths, _too_small_capacity = parted(overlong_lengths_and_capacity())
_several_lengths, _capacity_of_several = parted(
    lengths_and_capacity(fewest=5, most=12) | graded_lengths_and_capacity()
)


def _more_than_a_bin(lengths: IntArray, capacity: int, **_: object) -> bool:
    return int(lengths.sum()) > capacity


def _a_zero(lengths: IntArray, **_: object) -> bool:
    return 0 in lengths


def _three_different(lengths: IntArray, **_: object) -> bool:
    return len(np.unique(lengths)) > 2


SEVERAL_BINS = Activity("more lengths than one bin holds", _more_than_a_bin, 0.3)


@law(
    "BIN-001",
    needs={Op.ASSIGN_BINS},
    harm="documents are trained on twice, or never",
    sources=("P-PERM",),
    activity=SEVERAL_BINS,
)
@given(lengths=_lengths, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_every_length_is_in_exactly_one_bin(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The bins together hold every length exactly as often as it was given."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    same(_sorted(bins), sorted(lengths.tolist()), "the bins hold the given lengths, each as often")


@law(
    "BIN-001",
    facet="zero length",
    needs={Op.ASSIGN_BINS},
    harm="documents of a single token are lost, or taken for free bins",
    sources=("P-PERM", "P-TOTAL"),
    activity=Activity("a zero length", _a_zero, 0.1),
)
@given(lengths=_lengths_with_zeros, capacity=_capacity_of_zeros, algorithm=algorithms, seed=seeds)
def test_every_zero_length_is_in_exactly_one_bin(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The bins together hold every length exactly as often as it was given, zeros included."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    same(_sorted(bins), sorted(lengths.tolist()), "the bins hold the given lengths, each as often")


@law(
    "BIN-001",
    facet="no length",
    needs={Op.ASSIGN_BINS},
    harm="an empty split ends the preparation, or becomes an empty row",
    sources=("P-TOTAL",),
)
@given(capacity=capacities(), algorithm=algorithms, seed=seeds)
def test_no_length_makes_no_bin(
    implementation: Implementation, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Without a length there is no bin."""
    same(implementation.assign_bins(as_array([]), capacity, algorithm, seed), (), "there is no bin")


@law(
    "BIN-002",
    needs={Op.ASSIGN_BINS},
    harm="a row is wider than the buffers, and training stops or cuts it",
    sources=("P-CAP",),
    activity=SEVERAL_BINS,
)
@given(lengths=_lengths, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_no_bin_exceeds_the_capacity(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The lengths of a bin add up to at most the capacity."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    fullest = max((sum(lengths_of_bin) for lengths_of_bin in bins), default=0)
    holds(fullest <= capacity, f"no bin holds more than {capacity} slots", got=bins)


@law(
    "BIN-003",
    needs={Op.ASSIGN_BINS},
    harm="an empty row is trained on as padding only, or crashes a rank",
    sources=("RL-02", "P-TOTAL"),
)
@given(lengths=_lengths_with_zeros, capacity=_capacity_of_zeros, algorithm=algorithms, seed=seeds)
def test_no_bin_is_empty(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Every bin holds a length."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    holds(all(len(lengths_of_bin) > 0 for lengths_of_bin in bins), "every bin holds a length", got=bins)


@law(
    "BIN-004",
    facet="first fit",
    needs={Op.ASSIGN_BINS},
    harm="packs differ from those of the named algorithm, and runs cannot be compared",
    sources=("TR-04", "MB-48", "bridge-packing 2.1"),
    activity=SEVERAL_BINS,
)
@given(lengths=_several_lengths, capacity=_capacity_of_several, seed=seeds)
def test_first_fit_uses_the_lowest_bin_with_room(
    implementation: Implementation, lengths: IntArray, capacity: int, seed: int
) -> None:
    """First fit puts each length, in the given order, into the lowest bin that has room for it."""
    bins = implementation.assign_bins(lengths, capacity, Algorithm.FIRST_FIT, seed)
    same(bins, _first_fit(lengths, capacity), "each length is in the lowest bin that had room for it")


@law(
    "BIN-004",
    facet="first fit decreasing",
    needs={Op.ASSIGN_BINS},
    harm="packs differ from those of the named algorithm, and runs cannot be compared",
    sources=("TR-04", "MB-48", "bridge-packing 2.2"),
    activity=SEVERAL_BINS,
)
@given(lengths=_several_lengths, capacity=_capacity_of_several, seed=seeds)
def test_first_fit_decreasing_places_the_longest_first(
    implementation: Implementation, lengths: IntArray, capacity: int, seed: int
) -> None:
    """First fit decreasing is first fit of the lengths in descending order."""
    bins = implementation.assign_bins(lengths, capacity, Algorithm.FIRST_FIT_DECREASING, seed)
    expected = _first_fit(np.sort(lengths)[::-1], capacity)
    same(bins, expected, "each length, the longest first, is in the lowest bin that had room for it")


@law(
    "BIN-005",
    needs={Op.ASSIGN_BINS},
    harm="bins stay half empty, and accelerator time is spent on padding",
    sources=("bridge-packing 2.1", "axolotl #2631"),
    activity=SEVERAL_BINS,
)
@given(lengths=_several_lengths, capacity=_capacity_of_several, algorithm=algorithms, seed=seeds)
def test_no_length_would_fit_into_an_earlier_bin(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """First fit in any order leaves no length in a bin when an earlier bin has room for it."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    for later in range(1, len(bins)):
        room = capacity - min(sum(earlier) for earlier in bins[:later])
        shortest = min(bins[later], default=capacity + 1)
        holds(shortest > room, f"no length of bin {later} would fit into an earlier one", got=bins)


@law(
    "BIN-006",
    needs={Op.ASSIGN_BINS},
    harm="every seed gives the same packs, and the sorted order of lengths is never broken",
    sources=("bridge-packing 2.3",),
)
@given(n=st.integers(8, 12), seed=seeds)
def test_the_shuffle_depends_on_the_seed(implementation: Implementation, n: int, seed: int) -> None:
    """Six seeds do not all shuffle eight or more lengths into the same order."""
    lengths = np.arange(1, n + 1)
    capacity = int(lengths.sum())
    orders = [
        implementation.assign_bins(lengths, capacity, Algorithm.FIRST_FIT_SHUFFLE, seed ^ step) for step in range(6)
    ]
    holds(any(order != orders[0] for order in orders), "different seeds give different orders", got=orders)


@law(
    "BIN-007",
    facet="ambient random state",
    needs={Op.ASSIGN_BINS},
    harm="two hosts pack the same data differently, and a run cannot be repeated",
    sources=("P-DET", "MB-05", "S8"),
    activity=Activity("three or more different lengths", _three_different, 0.3),
)
@given(lengths=_several_lengths, capacity=_capacity_of_several, algorithm=algorithms, seed=seeds)
def test_bins_depend_on_nothing_but_the_arguments(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Equal arguments give equal bins, whatever random numbers the process drew before."""
    with ambient_random(1):
        first = implementation.assign_bins(lengths, capacity, algorithm, seed)
    with ambient_random(2):
        second = implementation.assign_bins(lengths, capacity, algorithm, seed)
    same(second, first, "the same seed gives the same bins")


@law(
    "BIN-008",
    facet="random state kept",
    needs={Op.ASSIGN_BINS},
    harm="packing changes what the rest of the program draws, such as dropout and data order",
    sources=("P-DET", "MB-05", "S8"),
)
@given(lengths=_several_lengths, capacity=_capacity_of_several, algorithm=algorithms, seed=seeds)
def test_assigning_bins_leaves_the_random_state_alone(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The global random state is the same after the call as before."""
    with ambient_random(3):
        before = random_state()
        implementation.assign_bins(lengths, capacity, algorithm, seed)
        holds(random_state() == before, "the global random state is as it was")


@law(
    "BIN-009",
    facet="longer than the capacity",
    needs={Op.ASSIGN_BINS},
    harm="a bin holds more than a pack can, and the preparation dies later with a bare KeyError",
    sources=("P-CAP", "MB-10", "S6", "AM-05"),
)
@given(lengths=_overlong_lengths, capacity=_too_small_capacity, algorithm=algorithms, seed=seeds)
def test_a_length_beyond_the_capacity_is_refused(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """A length above the capacity is refused with an error that says so."""
    refuses(
        lambda: implementation.assign_bins(lengths, capacity, algorithm, seed),
        f"a length of {lengths.max()} is refused at a capacity of {capacity}",
    )


@law(
    "BIN-009",
    facet="capacity below one",
    needs={Op.ASSIGN_BINS},
    harm="a mistyped pack size packs every document alone, without a word",
    sources=("P-CAP", "MB-10", "bridge-packing 2.1"),
)
@given(lengths=_lengths, capacity=st.integers(-2, 0), algorithm=algorithms, seed=seeds)
def test_a_capacity_below_one_is_refused(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """A capacity without a slot is refused with an error that says so."""
    refuses(
        lambda: implementation.assign_bins(lengths, capacity, algorithm, seed),
        f"a capacity of {capacity} is refused",
    )


@law(
    "BIN-009",
    facet="negative length",
    needs={Op.ASSIGN_BINS},
    harm="a document without a token makes room for more than a pack can hold",
    sources=("P-CAP", "S37"),
)
@given(lengths=_lengths, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_a_negative_length_is_refused(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """A length of -1, that of a document without a token, is refused with an error that says so."""
    with_empty = np.append(lengths, -1)
    refuses(
        lambda: implementation.assign_bins(with_empty, capacity, algorithm, seed),
        "a negative length is refused",
    )


def _sorted(bins: Bins) -> list[int]:
    return sorted(length for lengths in bins for length in lengths)


def _first_fit(lengths: IntArray, capacity: int) -> Bins:
    """The rule word for word: scan the bins from the first on."""
    bins: list[list[int]] = []
    for length in lengths.tolist():
        roomy = (lengths_of_bin for lengths_of_bin in bins if sum(lengths_of_bin) + length <= capacity)
        lowest = next(roomy, None)
        if lowest is None:
            bins.append([length])
        else:
            lowest.append(length)
    return tuple(tuple(lengths_of_bin) for lengths_of_bin in bins)
