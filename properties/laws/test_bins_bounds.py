"""How many bins first fit may need beside the true optimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds
from properties.law import Activity, law
from properties.strategies.lengths import as_array, capacities, graded_lengths_and_capacity, parted, seeds
from reference_impl.documents import Algorithm, IntArray
from reference_impl.interface import Implementation, Op
from reference_impl.optimum import minimum_bins


@st.composite
def _many_short(draw: st.DrawFn) -> tuple[IntArray, int]:
    """Fifteen to thirty lengths, most of them below a third of the capacity: three bins and more, well filled."""
    capacity = draw(capacities(smallest=12, largest=40))
    short = draw(st.lists(st.integers(2, capacity // 3), min_size=15, max_size=26))
    long = draw(st.lists(st.integers(capacity // 3, capacity), max_size=4))
    return as_array([*short, *long]), capacity


_lengths, _capacity = parted(_many_short() | graded_lengths_and_capacity())


def _needs_three_bins(lengths: IntArray, capacity: int, **_: object) -> bool:
    return int(np.sum(lengths)) > 2 * capacity


SEVERAL_BINS = Activity("lengths for three bins", _needs_three_bins, 0.4)


@law(
    "BIN-012",
    facet="first fit",
    needs={Op.ASSIGN_BINS},
    harm="a run needs twice the steps that its documents fill",
    sources=("Dosa and Sgall 2013: FF <= 1.7 OPT",),
    activity=SEVERAL_BINS,
)
@given(
    lengths=_lengths,
    capacity=_capacity,
    algorithm=st.sampled_from((Algorithm.FIRST_FIT, Algorithm.FIRST_FIT_SHUFFLE)),
    seed=seeds,
)
def test_first_fit_needs_at_most_seventeen_tenths_of_the_optimum(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """First fit in any order uses at most 1.7 times the fewest bins that can hold the lengths."""
    used = len(implementation.assign_bins(lengths, capacity, algorithm, seed))
    _is_within(used, Fraction(17, 10) * minimum_bins(lengths, capacity))


@law(
    "BIN-012",
    facet="first fit decreasing",
    needs={Op.ASSIGN_BINS},
    harm="a run needs many more steps than its documents fill",
    sources=("Dosa 2007: FFD <= 11/9 OPT + 6/9",),
    activity=SEVERAL_BINS,
)
@given(lengths=_lengths, capacity=_capacity, seed=seeds)
def test_first_fit_decreasing_needs_at_most_eleven_ninths_of_the_optimum(
    implementation: Implementation, lengths: IntArray, capacity: int, seed: int
) -> None:
    """First fit decreasing uses at most 11/9 of the fewest bins that can hold the lengths, and 6/9 of a bin more."""
    used = len(implementation.assign_bins(lengths, capacity, Algorithm.FIRST_FIT_DECREASING, seed))
    _is_within(used, Fraction(11, 9) * minimum_bins(lengths, capacity) + Fraction(6, 9))


def _is_within(used: int, bound: Fraction) -> None:
    holds(used <= bound, "the bins are within the bound from the true optimum", got=used, expected=int(bound))
