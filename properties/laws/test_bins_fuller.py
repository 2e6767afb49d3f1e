"""Lengths in bins, by best fit and by the histogram packers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.strategies.lengths import (
    fuller_algorithms,
    graded_lengths_and_capacity,
    lengths_and_capacity,
    overlong_lengths_and_capacity,
    parted,
    seeds,
)
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.interface import Implementation, Op
from reference_impl.naive_bins import (
    naive_best_fit_decreasing,
    naive_longest_pack_first,
    naive_shortest_pack_first,
)

_lengths, _capacity = parted(lengths_and_capacity(smallest=0) | graded_lengths_and_capacity())
_graded_lengths, _capacity_of_graded = parted(graded_lengths_and_capacity())
_overlong_lengths, _too_small_capacity = parted(overlong_lengths_and_capacity())

KRELL = "arXiv 2107.02027"


def _more_than_a_bin(lengths: IntArray, capacity: int, **_: object) -> bool:
    return int(lengths.sum()) > capacity


SEVERAL_BINS = Activity("more lengths than one bin holds", _more_than_a_bin, 0.3)


@law(
    "BIN-001",
    facet="best fit and histogram packers",
    needs={Op.ASSIGN_BINS},
    harm="documents are trained on twice, or never",
    sources=("P-PERM", KRELL),
    activity=SEVERAL_BINS,
)
@given(lengths=_lengths, capacity=_capacity, algorithm=fuller_algorithms, seed=seeds)
def test_fuller_bins_hold_every_length_once(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The bins together hold every length exactly as often as it was given, zeros included."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    held = sorted(length for lengths_of_bin in bins for length in lengths_of_bin)
    same(held, sorted(lengths.tolist()), "the bins hold the given lengths, each as often")


@law(
    "BIN-002",
    facet="best fit and histogram packers",
    needs={Op.ASSIGN_BINS},
    harm="a row is wider than the buffers, and training stops or cuts it",
    sources=("P-CAP", KRELL),
    activity=SEVERAL_BINS,
)
@given(lengths=_lengths, capacity=_capacity, algorithm=fuller_algorithms, seed=seeds)
def test_no_fuller_bin_exceeds_the_capacity(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The lengths of a bin add up to at most the capacity."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    fullest = max((sum(lengths_of_bin) for lengths_of_bin in bins), default=0)
    holds(fullest <= capacity, f"no bin holds more than {capacity} slots", got=bins)


@law(
    "BIN-003",
    facet="best fit and histogram packers",
    needs={Op.ASSIGN_BINS},
    harm="an empty row is trained on as padding only, or crashes a rank",
    sources=("RL-02", "P-TOTAL"),
)
@given(lengths=_lengths, capacity=_capacity, algorithm=fuller_algorithms, seed=seeds)
def test_no_fuller_bin_is_empty(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Every bin holds a length."""
    bins = implementation.assign_bins(lengths, capacity, algorithm, seed)
    holds(all(len(lengths_of_bin) > 0 for lengths_of_bin in bins), "every bin holds a length", got=bins)


@law(
    "BIN-009",
    facet="longer than the capacity, best fit and histogram packers",
    needs={Op.ASSIGN_BINS},
    harm="a bin holds more than a pack can, or the packer looks for room for ever",
    sources=("P-CAP", "MB-10"),
)
@given(lengths=_overlong_lengths, capacity=_too_small_capacity, algorithm=fuller_algorithms, seed=seeds)
def test_fuller_bins_refuse_a_length_beyond_the_capacity(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """A length above the capacity is refused with an error that says so."""
    refuses(
        lambda: implementation.assign_bins(lengths, capacity, algorithm, seed),
        f"a length of {lengths.max()} is refused at a capacity of {capacity}",
    )


@law(
    "BIN-010",
    needs={Op.ASSIGN_BINS},
    harm="bins stay half empty, and accelerator time is spent on padding",
    sources=("P-CAP", KRELL),
    activity=SEVERAL_BINS,
)
@given(
    lengths=_graded_lengths,
    capacity=_capacity_of_graded,
    algorithm=st.sampled_from((Algorithm.BEST_FIT_DECREASING, Algorithm.LONGEST_PACK_FIRST)),
    seed=seeds,
)
def test_no_two_bins_fit_into_one(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """A bin is opened only when no other has room, so that no two of them fit into one."""
    loads = _loads(implementation.assign_bins(lengths, capacity, algorithm, seed))
    roomy = [pair for pair in combinations(loads, 2) if sum(pair) <= capacity]
    holds(not roomy, f"no two bins fit into {capacity} slots", got=roomy)


@law(
    "BIN-011",
    facet="best fit decreasing",
    needs={Op.ASSIGN_BINS},
    harm="packs are less full than those of the named algorithm, and runs cannot be compared",
    sources=("TR-04",),
    activity=SEVERAL_BINS,
)
@given(lengths=_graded_lengths, capacity=_capacity_of_graded, seed=seeds)
def test_best_fit_uses_the_fullest_bin_with_room(
    implementation: Implementation, lengths: IntArray, capacity: int, seed: int
) -> None:
    """Best fit decreasing, word for word, fills its bins to the same loads, whichever of equal bins it takes."""
    bins = implementation.assign_bins(lengths, capacity, Algorithm.BEST_FIT_DECREASING, seed)
    _are_as_full_as(bins, naive_best_fit_decreasing, lengths, capacity)


@law(
    "BIN-011",
    facet="longest pack first",
    needs={Op.ASSIGN_BINS},
    harm="packs are less full than those of the named algorithm, and runs cannot be compared",
    sources=(KRELL,),
    activity=SEVERAL_BINS,
)
@given(lengths=_graded_lengths, capacity=_capacity_of_graded, seed=seeds)
def test_longest_pack_first_uses_the_fullest_pack_with_room(
    implementation: Implementation, lengths: IntArray, capacity: int, seed: int
) -> None:
    """Longest pack first fills its bins as best fit decreasing does, whichever of equal packs it takes."""
    bins = implementation.assign_bins(lengths, capacity, Algorithm.LONGEST_PACK_FIRST, seed)
    _are_as_full_as(bins, naive_longest_pack_first, lengths, capacity)


@law(
    "BIN-011",
    facet="shortest pack first",
    needs={Op.ASSIGN_BINS},
    harm="packs differ from those of the named algorithm, and runs cannot be compared",
    sources=(KRELL,),
    activity=SEVERAL_BINS,
)
@given(lengths=_graded_lengths, capacity=_capacity_of_graded, seed=seeds)
def test_shortest_pack_first_uses_the_emptiest_pack_with_room(
    implementation: Implementation, lengths: IntArray, capacity: int, seed: int
) -> None:
    """Shortest pack first, word for word, fills its bins to the same loads, whichever of equal packs it takes."""
    bins = implementation.assign_bins(lengths, capacity, Algorithm.SHORTEST_PACK_FIRST, seed)
    _are_as_full_as(bins, naive_shortest_pack_first, lengths, capacity)


def _are_as_full_as(bins: Bins, naive: Callable[[Sequence[int], int], Bins], lengths: IntArray, capacity: int) -> None:
    same(_loads(bins), _loads(naive(lengths.tolist(), capacity)), "the loads are those of the rule, word for word")


def _loads(bins: Bins) -> list[int]:
    return sorted(sum(lengths) for lengths in bins)
