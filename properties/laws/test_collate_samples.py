"""Packed rows to batches: which rows become samples, fillers among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.activities import RAGGED
from properties.claims import holds, same
from properties.law import law
from properties.readings import (
    ambient_random,
    collated,
    random_state,
    stream_of,
    weights_of,
)
from properties.strategies.lengths import parted
from properties.strategies.rows import RowKind, Width, collations
from reference_impl.batches import CollateSpec
from reference_impl.documents import PackedRow
from reference_impl.interface import Implementation, Op

Rows = tuple[PackedRow, ...]

_rows, _spec = parted(collations())
_all_loss_rows, _all_loss_spec = parted(collations(answer_only_loss=False))
_ragged_rows, _ragged_spec = parted(collations(RowKind(fewest_rows=2, most_rows=4), width=Width.FULL))
_mapped_rows, _mapped_spec = parted(collations(RowKind(fewest_rows=2, most_rows=4), width=Width.FULL, mapped=True))
_mapped_all_loss_rows, _mapped_all_loss_spec = parted(
    collations(RowKind(fewest_rows=2), width=Width.FULL, mapped=True, answer_only_loss=False)
)


@law(
    "COL-014",
    needs={Op.COLLATE},
    harm="a batch of rows with different numbers of documents cannot be built, or rows change each other",
    sources=("P-BOUND", "P-TOTAL", "MB-03"),
    activity=RAGGED,
)
@given(rows=_ragged_rows, spec=_ragged_spec)
def test_a_row_is_collated_as_if_alone(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """What becomes of a row does not depend on the rows that are collated with it."""
    for position, (row, beside) in enumerate(collated(implementation, rows, spec)):
        alone = implementation.collate([row], [0], spec)[0]
        same(beside.tokens, alone.tokens, f"row {position} has the tokens it has alone")
        same(weights_of(beside), weights_of(alone), f"row {position} has the loss weights it has alone")
        same(beside.layout.padded, alone.layout.padded, f"row {position} has the boundaries it has alone")


@law(
    "COL-014",
    facet="any order",
    needs={Op.COLLATE},
    harm="samples are exchanged or left out, or a cached batch is changed by its first use",
    sources=("P-PERM", "P-STAGE", "NM-06"),
)
@given(rows=_ragged_rows, spec=_ragged_spec, picks=st.lists(st.integers(0, 9), min_size=1, max_size=4).map(tuple))
def test_batches_follow_the_samples_asked_for(
    implementation: Implementation, rows: Rows, spec: CollateSpec, picks: tuple[int, ...]
) -> None:
    """There is one batch for each sample, in the order asked for, also for samples asked for twice."""
    indices = [pick % len(rows) for pick in picks]
    batches = implementation.collate(rows, indices, spec)
    holds(len(batches) == len(indices), "there is one batch for each sample", got=len(batches), expected=len(indices))
    for index, batch in zip(indices, batches, strict=True):
        stream = stream_of(rows[index])
        same(batch.tokens[: stream.slots], stream.tokens, f"the batch of sample {index} holds row {index}")


@law(
    "COL-015",
    needs={Op.COLLATE},
    harm="rows that fill up the last batch are trained on twice",
    sources=("P-MASK", "MB-24"),
)
@given(rows=_rows, spec=_spec)
def test_fillers_weigh_nothing(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """A sample with a negative index has no loss."""
    _weighs_nothing(implementation, rows, spec)


@law(
    "COL-015",
    facet="epoch mapping",
    needs={Op.COLLATE},
    harm="rows that fill up the last batch are trained on twice",
    sources=("P-MASK", "MB-24", "S3"),
)
@given(rows=_mapped_rows, spec=_mapped_spec)
def test_fillers_of_a_mapped_data_set_weigh_nothing(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """With an epoch mapping a sample with a negative index still has no loss."""
    _weighs_nothing(implementation, rows, spec)


@law(
    "COL-015",
    facet="without answer-only loss",
    needs={Op.COLLATE},
    harm="rows that fill up the last batch are trained on twice",
    sources=("P-MASK", "MB-24", "S2"),
)
@given(rows=_all_loss_rows, spec=_all_loss_spec)
def test_fillers_without_answer_only_loss_weigh_nothing(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Without answer-only loss a sample with a negative index still has no loss."""
    _weighs_nothing(implementation, rows, spec)


@law(
    "COL-015",
    facet="epoch mapping, without answer-only loss",
    needs={Op.COLLATE},
    harm="rows that fill up the last batch are trained on twice",
    sources=("P-MASK", "MB-24", "S2", "S3"),
)
@given(rows=_mapped_all_loss_rows, spec=_mapped_all_loss_spec)
def test_fillers_of_a_mapped_data_set_without_answer_only_loss_weigh_nothing(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """With an epoch mapping and without answer-only loss a sample with a negative index still has no loss."""
    _weighs_nothing(implementation, rows, spec)


@law(
    "COL-016",
    needs={Op.COLLATE},
    harm="some rows are trained on more often than others",
    sources=("P-PERM", "bridge-packing 2.13"),
)
@given(rows=_mapped_rows, spec=_mapped_spec)
def test_an_epoch_of_batches_holds_each_row_once(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """With an epoch mapping the first samples, as many as there are rows, are the rows in some order."""
    batches = implementation.collate(rows, range(len(rows)), spec)
    seen = sorted(int(batch.tokens[0]) for batch in batches)
    same(seen, sorted(int(row.tokens[0]) for row in rows), "each row is seen once in the first epoch")


@law(
    "COL-016",
    facet="one row, one sample",
    needs={Op.COLLATE},
    harm="a small data set that packs into one row ends training with an IndexError",
    sources=("P-TOTAL", "MB-46", "S18"),
)
@given(rows=_rows, spec=_spec)
def test_one_row_makes_one_batch(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """A single row and an epoch of a single sample make one batch of that row."""
    batch = implementation.collate(rows[:1], [0], replace(spec, n_samples=1))[0]
    stream = stream_of(rows[0])
    same(batch.tokens[: stream.slots], stream.tokens, "the only sample is the only row")


@law(
    "COL-017",
    needs={Op.COLLATE},
    harm="ranks read different rows, and a resumed run repeats some and misses others",
    sources=("P-DET", "MB-05"),
)
@given(rows=_mapped_rows, spec=_mapped_spec)
def test_batches_depend_on_nothing_but_the_arguments(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Equal rows and settings give equal batches, whatever random numbers the process drew before."""
    seen: list[list[list[int]]] = []
    for ambient in (1, 2):
        with ambient_random(ambient):
            seen.append([batch.tokens.tolist() for batch in implementation.collate(rows, range(len(rows)), spec)])
    same(seen[1], seen[0], "the same seed gives the same batches")


@law(
    "COL-017",
    facet="random state kept",
    needs={Op.COLLATE},
    harm="opening a data set changes what the rest of the program draws, such as dropout",
    sources=("P-DET", "MB-05", "S43"),
)
@given(rows=_mapped_rows, spec=_mapped_spec)
def test_collating_leaves_the_random_state_alone(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """The global random state is the same after the call as before."""
    with ambient_random(3):
        before = random_state()
        implementation.collate(rows, [0], spec)
        holds(random_state() == before, "the global random state is as it was")


def _weighs_nothing(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    fillers = [-number for number in range(1, len(rows) + 1)]
    batches = implementation.collate(rows, [0, *fillers], spec)
    for index, batch in zip(fillers, batches[1:], strict=True):
        weights = weights_of(batch)
        same(weights, np.zeros(len(batch.tokens)), f"the filler {index} weighs nothing")
