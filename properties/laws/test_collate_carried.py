"""Packed rows to batches: what batches carry for kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from properties.activities import PADDING, SEVERAL_IN_A_ROW, TAIL
from properties.carried import carries_its_longest_segment, carries_its_segments
from properties.claims import holds, same
from properties.law import law
from properties.readings import collated
from properties.strategies.lengths import parted
from properties.strategies.rows import Padded, RowKind, collations
from reference_impl.batches import CollateSpec
from reference_impl.documents import PackedRow
from reference_impl.interface import Implementation, Op

Rows = tuple[PackedRow, ...]

_rows, _spec = parted(collations())
_padded_rows, _padded_spec = parted(collations(RowKind(padded=Padded.EOS)))


@law(
    "COL-018",
    needs={Op.COLLATE},
    harm="the kernel is given other segments than the batch has",
    sources=("P-BOUND", "P-STAGE", "MB-11"),
    activity=SEVERAL_IN_A_ROW,
)
@given(rows=_rows, spec=_spec)
def test_boundaries_that_a_batch_carries_are_those_of_its_segments(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Cut at their sentinels, the boundaries that a batch carries begin with those of its segments."""
    for _, batch in collated(implementation, rows, spec):
        carries_its_segments(batch)


@law(
    "COL-018",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="padding is attended to, or context parallelism cuts the documents at wrong places",
    sources=("P-BOUND", "P-PADDED", "ML-30"),
    activity=PADDING,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_a_batch_carries_slots_and_valid_lengths_under_their_names(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Boundaries of slots and of valid lengths that a batch carries are each those of its segments."""
    for _, batch in collated(implementation, rows, spec):
        carries_its_segments(batch)


@law(
    "COL-019",
    needs={Op.COLLATE},
    harm="kernels are launched for too short a sequence and leave slots out",
    sources=("P-MAXSEQ",),
    activity=TAIL,
)
@given(rows=_rows, spec=_spec)
def test_max_seqlen_that_a_batch_carries_is_its_longest_segment(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Every max_seqlen that a batch carries is its longest segment in slots, that of the tail included."""
    for _, batch in collated(implementation, rows, spec):
        carries_its_longest_segment(batch)


@law(
    "COL-020",
    needs={Op.COLLATE},
    harm="kernels read valid lengths behind the end of their array, or of another segment",
    sources=("P-BOUND", "P-PADDED", "MB-37"),
    activity=TAIL,
)
@given(rows=_rows, spec=_spec)
def test_valid_and_slot_boundaries_speak_of_the_same_segments(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """There are as many valid boundaries as boundaries of slots, and no segment is longer than its slots."""
    for _, batch in collated(implementation, rows, spec):
        layout = batch.layout
        same(layout.valid.size, layout.padded.size, "there is one valid boundary for each boundary of slots")
        fits = np.diff(layout.valid) <= np.diff(layout.padded)
        holds(fits.all(), "no segment has more tokens than slots", got=layout.valid, expected=layout.padded)
