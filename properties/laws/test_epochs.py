"""The order in which epochs visit packed rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.readings import ambient_random, random_state
from properties.strategies.lengths import parted, seeds
from reference_impl.interface import Implementation, Op


def _rows_and_samples(rows: tuple[int, int]) -> st.SearchStrategy[tuple[int, int]]:
    """A number of rows, and of samples: part of an epoch, whole ones, one beside."""
    return st.integers(*rows).flatmap(
        lambda n: st.tuples(
            st.just(n), st.sampled_from((1, n - 1, n, n + 1, 2 * n, 3 * n + 1)).map(lambda m: max(1, m))
        )
    )


_n_rows, _n_samples = parted(_rows_and_samples((2, 12)))


def _two_epochs(n_rows: int, n_samples: int, **_: object) -> bool:
    return n_samples >= 2 * n_rows


TWO_EPOCHS = Activity("two or more epochs", _two_epochs, 0.1)


@law(
    "EPO-001",
    needs={Op.EPOCH_ORDER},
    harm="training stops early, or reads rows that do not exist",
    sources=("P-TOTAL", "bridge-packing 2.13"),
    activity=TWO_EPOCHS,
)
@given(n_rows=_n_rows, n_samples=_n_samples, seed=seeds)
def test_every_sample_has_a_row(implementation: Implementation, n_rows: int, n_samples: int, seed: int) -> None:
    """There is one row for each sample, and it exists."""
    _names_a_row_for_every_sample(implementation, n_rows, n_samples, seed)


@law(
    "EPO-001",
    facet="one row, one sample",
    needs={Op.EPOCH_ORDER},
    harm="a small data set that packs into one row ends training with an IndexError",
    sources=("P-TOTAL", "MB-46", "S18"),
)
@given(seed=seeds)
def test_one_row_makes_one_sample(implementation: Implementation, seed: int) -> None:
    """A single row and a single sample make an order of one entry."""
    _names_a_row_for_every_sample(implementation, 1, 1, seed)


@law(
    "EPO-001",
    facet="one row, several samples",
    needs={Op.EPOCH_ORDER},
    harm="a small data set that packs into one row cannot be trained on for several epochs",
    sources=("P-TOTAL", "MB-46"),
)
@given(n_samples=st.integers(2, 9), seed=seeds)
def test_one_row_makes_several_samples(implementation: Implementation, n_samples: int, seed: int) -> None:
    """A single row is used for every sample."""
    _names_a_row_for_every_sample(implementation, 1, n_samples, seed)


@law(
    "EPO-001",
    facet="no row",
    needs={Op.EPOCH_ORDER},
    harm="an empty packed file ends training with a ZeroDivisionError",
    sources=("P-TOTAL", "S36", "bridge-packing 2.13"),
)
@given(n_samples=st.integers(1, 9), seed=seeds)
def test_an_order_of_no_row_is_refused(implementation: Implementation, n_samples: int, seed: int) -> None:
    """Samples of no row are refused with an error that says so."""
    refuses(lambda: implementation.epoch_order(0, n_samples, seed), "samples of no row are refused")


@law(
    "EPO-002",
    needs={Op.EPOCH_ORDER},
    harm="some rows are trained on more often than others",
    sources=("P-PERM", "MB-46"),
    activity=TWO_EPOCHS,
)
@given(n_rows=_n_rows, n_samples=_n_samples, seed=seeds)
def test_every_epoch_visits_each_row_once(
    implementation: Implementation, n_rows: int, n_samples: int, seed: int
) -> None:
    """Each whole epoch is a permutation of the rows, and the last, cut one repeats none."""
    order = implementation.epoch_order(n_rows, n_samples, seed)
    for start in range(0, len(order), n_rows):
        epoch = order[start : start + n_rows]
        same(len(np.unique(epoch)), len(epoch), "no row is visited twice in one epoch")


@law(
    "EPO-003",
    needs={Op.EPOCH_ORDER},
    harm="every run sees the rows in the order of the file",
    sources=("bridge-packing 2.13",),
)
@given(n_rows=st.integers(8, 12), seed=seeds)
def test_the_order_depends_on_the_seed(implementation: Implementation, n_rows: int, seed: int) -> None:
    """Six seeds do not all give eight or more rows the same order."""
    orders = [implementation.epoch_order(n_rows, n_rows, seed ^ step).tolist() for step in range(6)]
    holds(any(order != orders[0] for order in orders), "different seeds give different orders", got=orders)


@law(
    "EPO-003",
    facet="later epochs",
    needs={Op.EPOCH_ORDER},
    harm="every epoch repeats the order of the first",
    sources=("bridge-packing 2.13",),
)
@given(n_rows=st.integers(8, 12), seed=seeds)
def test_every_epoch_is_shuffled_anew(implementation: Implementation, n_rows: int, seed: int) -> None:
    """Six epochs of eight or more rows do not all have one order."""
    order = implementation.epoch_order(n_rows, 6 * n_rows, seed).tolist()
    epochs = [order[start : start + n_rows] for start in range(0, len(order), n_rows)]
    holds(any(epoch != epochs[0] for epoch in epochs), "epochs differ in their order", got=epochs)


@law(
    "EPO-004",
    needs={Op.EPOCH_ORDER},
    harm="ranks read different rows, and a resumed run repeats some and misses others",
    sources=("P-DET", "MB-05"),
    activity=TWO_EPOCHS,
)
@given(n_rows=_n_rows, n_samples=_n_samples, seed=seeds)
def test_the_order_depends_on_nothing_but_the_arguments(
    implementation: Implementation, n_rows: int, n_samples: int, seed: int
) -> None:
    """Equal arguments give an equal order, whatever random numbers the process drew before."""
    with ambient_random(1):
        first = implementation.epoch_order(n_rows, n_samples, seed)
    with ambient_random(2):
        second = implementation.epoch_order(n_rows, n_samples, seed)
    same(second, first, "the same seed gives the same order")


@law(
    "EPO-004",
    facet="random state kept",
    needs={Op.EPOCH_ORDER},
    harm="opening a data set changes what the rest of the program draws, such as dropout",
    sources=("P-DET", "MB-05", "S43"),
)
@given(n_rows=_n_rows, n_samples=_n_samples, seed=seeds)
def test_ordering_leaves_the_random_state_alone(
    implementation: Implementation, n_rows: int, n_samples: int, seed: int
) -> None:
    """The global random state is the same after the call as before."""
    with ambient_random(3):
        before = random_state()
        implementation.epoch_order(n_rows, n_samples, seed)
        holds(random_state() == before, "the global random state is as it was")


def _names_a_row_for_every_sample(implementation: Implementation, n_rows: int, n_samples: int, seed: int) -> None:
    order = implementation.epoch_order(n_rows, n_samples, seed)
    same(order.shape, (n_samples,), "there is one row for each sample")
    holds(((order >= 0) & (order < n_rows)).all(), f"every row is one of 0..{n_rows - 1}", got=order)
