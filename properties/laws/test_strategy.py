"""Bins and metadata of counted lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.readings import ambient_random, metadata_of, random_state
from properties.strategies.lengths import algorithms, counts_and_capacity, lengths_and_capacity, parted, seeds
from reference_impl.documents import Algorithm, IntArray
from reference_impl.interface import Implementation, Op

_counts, _capacity = parted(counts_and_capacity())
_counts_with_zero, _capacity_of_zero = parted(counts_and_capacity(smallest=0))
_any_counts, _any_capacity = parted(counts_and_capacity())
_lengths, _capacity_of_lengths = parted(lengths_and_capacity())


def lengths_in(counts: IntArray) -> IntArray:
    """Lengths in ascending order, each as often as it was counted."""
    return np.repeat(np.arange(len(counts)), counts)


def _more_than_a_bin(counts: IntArray, capacity: int, **_: object) -> bool:
    return int(lengths_in(counts).sum()) > capacity


def _a_zero(counts: IntArray, **_: object) -> bool:
    return bool(counts[0])


SEVERAL_BINS = Activity("more lengths than one bin holds", _more_than_a_bin, 0.25)


@law(
    "STR-001",
    needs={Op.PACKING_STRATEGY},
    harm="documents are trained on twice, or never",
    sources=("P-PERM",),
    activity=SEVERAL_BINS,
)
@given(counts=_counts, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_the_bins_hold_every_counted_document(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Each length is in the bins as often as it was counted."""
    bins = implementation.packing_strategy(counts, capacity, algorithm, seed).bins
    placed = sorted(length for lengths in bins for length in lengths)
    same(placed, lengths_in(counts).tolist(), "each length is in the bins as often as it was counted")


@law(
    "STR-001",
    facet="zero length",
    needs={Op.PACKING_STRATEGY},
    harm="documents of a single token are lost, or end the preparation",
    sources=("P-PERM", "P-TOTAL"),
    activity=Activity("a document of a single token", _a_zero, 0.1),
)
@given(counts=_counts_with_zero, capacity=_capacity_of_zero, algorithm=algorithms, seed=seeds)
def test_the_bins_hold_documents_of_a_single_token(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Documents that fill no slot are in the bins as often as they were counted."""
    bins = implementation.packing_strategy(counts, capacity, algorithm, seed).bins
    placed = sorted(length for lengths in bins for length in lengths)
    same(placed, lengths_in(counts).tolist(), "each length is in the bins as often as it was counted")


@law(
    "STR-002",
    needs={Op.PACKING_STRATEGY},
    harm="a row is wider than the buffers, and training stops or cuts it",
    sources=("P-CAP", "NM-08"),
    activity=SEVERAL_BINS,
)
@given(counts=_counts, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_no_bin_of_a_strategy_exceeds_the_capacity(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The lengths of a bin add up to at most the capacity."""
    bins = implementation.packing_strategy(counts, capacity, algorithm, seed).bins
    fullest = max((sum(lengths) for lengths in bins), default=0)
    holds(fullest <= capacity, f"no bin holds more than {capacity} slots", got=bins)


@law(
    "STR-003",
    needs={Op.PACKING_STRATEGY, Op.ASSIGN_BINS},
    harm="the named algorithm is not the one that packs",
    sources=("TR-04", "S39", "bridge-packing 2.5"),
    activity=SEVERAL_BINS,
)
@given(
    counts=_counts,
    capacity=_capacity,
    algorithm=st.sampled_from((Algorithm.FIRST_FIT, Algorithm.FIRST_FIT_DECREASING)),
    seed=seeds,
)
def test_a_strategy_uses_the_named_algorithm(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The bins are those of the named algorithm for the counted lengths in ascending order."""
    bins = implementation.packing_strategy(counts, capacity, algorithm, seed).bins
    expected = implementation.assign_bins(lengths_in(counts), capacity, algorithm, seed)
    same(bins, expected, f"the bins are those of {algorithm}")


@law(
    "STR-004",
    facet="extremes",
    needs={Op.PACKING_STRATEGY},
    harm="static boundary arrays are too short, or attention kernels get a wrong max_seqlen",
    sources=("P-STAT", "P-SHAPE", "bridge-packing 2.5"),
    activity=SEVERAL_BINS,
)
@given(counts=_counts, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_metadata_names_the_extremes_of_the_bins(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Longest document, most documents of a bin, emptiest bin and capacity are those of the bins."""
    strategy = implementation.packing_strategy(counts, capacity, algorithm, seed)
    holds(len(strategy.bins) > 0, "there is a bin")
    expected, found = metadata_of(strategy.bins, capacity), strategy.metadata
    same(found.dataset_max_seqlen, expected.dataset_max_seqlen, "dataset_max_seqlen is the longest document")
    same(found.max_samples_per_bin, expected.max_samples_per_bin, "max_samples_per_bin is that of the fullest bin")
    same(found.min_packed_seqlen, expected.min_packed_seqlen, "min_packed_seqlen is the load of the emptiest bin")
    same(found.pack_size, capacity, "pack_size is the capacity")


@law(
    "STR-004",
    facet="factor",
    needs={Op.PACKING_STRATEGY},
    harm="the number of training steps is planned wrongly",
    sources=("P-STAT", "bridge-packing 2.5"),
    activity=SEVERAL_BINS,
)
@given(counts=_counts, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_the_packing_factor_is_documents_per_bin(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The packing factor is the mean number of documents per bin, to 2 digits."""
    strategy = implementation.packing_strategy(counts, capacity, algorithm, seed)
    holds(len(strategy.bins) > 0, "there is a bin")
    expected = int(counts.sum()) / len(strategy.bins)
    _rounds_to(strategy.metadata.packing_factor, expected, "the packing factor is documents per bin")


@law(
    "STR-004",
    facet="efficiency",
    needs={Op.PACKING_STRATEGY},
    harm="a bad choice of capacity looks good, and accelerator time is spent on padding",
    sources=("P-CAP", "P-STAT", "bridge-packing 2.5"),
    activity=SEVERAL_BINS,
)
@given(counts=_counts, capacity=_capacity, algorithm=algorithms, seed=seeds)
def test_the_packing_efficiency_is_the_mean_load(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The packing efficiency is the mean load of a bin in percent of the capacity, to 2 digits, and at most 100."""
    strategy = implementation.packing_strategy(counts, capacity, algorithm, seed)
    holds(len(strategy.bins) > 0, "there is a bin")
    found = strategy.metadata.packing_efficiency
    expected = 100 * int(lengths_in(counts).sum()) / (len(strategy.bins) * capacity)
    _rounds_to(found, expected, "the packing efficiency is the mean load in percent")
    holds(0 < found <= 100, "the packing efficiency is above 0 and at most 100", got=found)


@law(
    "STR-005",
    facet="no document",
    needs={Op.PACKING_STRATEGY},
    harm="an empty split ends the preparation with a ZeroDivisionError",
    sources=("P-TOTAL", "S36"),
)
@given(max_length=st.integers(1, 64), capacity=_any_capacity, algorithm=algorithms, seed=seeds)
def test_a_strategy_for_no_document_is_refused(
    implementation: Implementation, max_length: int, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Counts without a document are refused with an error that says so."""
    nothing = np.zeros(max_length + 1, dtype=np.int64)
    refuses(
        lambda: implementation.packing_strategy(nothing, capacity, algorithm, seed),
        "counts of no document are refused",
    )


@law(
    "STR-005",
    facet="longer than the capacity",
    needs={Op.PACKING_STRATEGY},
    harm="a bin holds more than a pack can, at an efficiency above 100 percent",
    sources=("P-CAP", "MB-10", "S6"),
)
@given(counts=_any_counts, capacity=_any_capacity, beyond=st.integers(1, 20), algorithm=algorithms, seed=seeds)
def test_a_strategy_for_a_document_beyond_the_capacity_is_refused(
    implementation: Implementation, counts: IntArray, capacity: int, beyond: int, algorithm: Algorithm, seed: int
) -> None:
    """A counted document longer than the capacity is refused with an error that says so."""
    with_overlong = np.zeros(max(len(counts), capacity + beyond + 1), dtype=np.int64)
    with_overlong[: len(counts)] = counts
    with_overlong[capacity + beyond] += 1
    refuses(
        lambda: implementation.packing_strategy(with_overlong, capacity, algorithm, seed),
        f"a document of {capacity + beyond} slots is refused at a capacity of {capacity}",
    )


@law(
    "STR-006",
    facet="ambient random state",
    needs={Op.PACKING_STRATEGY},
    harm="two hosts pack the same data differently, and a run cannot be repeated",
    sources=("P-DET", "MB-05", "S8"),
    activity=SEVERAL_BINS,
)
@given(counts=_any_counts, capacity=_any_capacity, algorithm=algorithms, seed=seeds)
def test_a_strategy_depends_on_nothing_but_the_arguments(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """Equal arguments give equal bins and metadata, whatever random numbers the process drew before."""
    with ambient_random(1):
        first = implementation.packing_strategy(counts, capacity, algorithm, seed)
    with ambient_random(2):
        second = implementation.packing_strategy(counts, capacity, algorithm, seed)
    same(second, first, "the same seed gives the same strategy")


@law(
    "STR-006",
    facet="random state kept",
    needs={Op.PACKING_STRATEGY},
    harm="packing changes what the rest of the program draws, such as dropout and data order",
    sources=("P-DET", "MB-05", "S8"),
)
@given(counts=_any_counts, capacity=_any_capacity, algorithm=algorithms, seed=seeds)
def test_a_strategy_leaves_the_random_state_alone(
    implementation: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The global random state is the same after the call as before."""
    with ambient_random(3):
        before = random_state()
        implementation.packing_strategy(counts, capacity, algorithm, seed)
        holds(random_state() == before, "the global random state is as it was")


@law(
    "STR-007",
    needs={Op.HISTOGRAM, Op.PACKING_STRATEGY},
    harm="the steps of a preparation do not fit each other",
    sources=("NM-08", "P-PERM"),
)
@given(lengths=_lengths, capacity=_capacity_of_lengths, algorithm=algorithms, seed=seeds)
def test_a_histogram_can_be_packed(
    implementation: Implementation, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> None:
    """The strategy for a histogram holds the lengths that were counted."""
    counts = implementation.histogram(lengths, capacity).counts
    bins = implementation.packing_strategy(counts, capacity, algorithm, seed).bins
    placed = sorted(length for lengths_of_bin in bins for length in lengths_of_bin)
    same(placed, sorted(lengths.tolist()), "the bins hold the lengths that went into the histogram")


@law(
    "STR-008",
    needs={Op.PACKING_STRATEGY},
    harm="every seed gives the same packs, and the sorted order of lengths is never broken",
    sources=("bridge-packing 2.3",),
)
@given(n=st.integers(8, 12), seed=seeds)
def test_the_strategy_depends_on_the_seed(implementation: Implementation, n: int, seed: int) -> None:
    """Six seeds do not all shuffle eight or more different lengths into the same order."""
    counts = np.append(0, np.ones(n, dtype=np.int64))
    capacity = int(lengths_in(counts).sum())
    orders = [
        implementation.packing_strategy(counts, capacity, Algorithm.FIRST_FIT_SHUFFLE, seed ^ step).bins
        for step in range(6)
    ]
    holds(any(order != orders[0] for order in orders), "different seeds give different orders", got=orders)


def _rounds_to(found: float, expected: float, sentence: str) -> None:
    """Claim equality to 2 digits; half a unit of the last digit either way, whatever the rule for ties."""
    holds(abs(found - expected) <= 0.005 + 1e-9, sentence, got=found, expected=round(expected, 2))
