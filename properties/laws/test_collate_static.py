"""Packed rows to batches: boundaries of a fixed number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.activities import RAGGED
from properties.claims import holds, refuses, same
from properties.law import law
from properties.readings import (
    boundary_arrays,
    collated,
    separates_the_documents,
)
from properties.strategies.lengths import parted
from properties.strategies.rows import Padded, RowKind, collations
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.interface import Implementation, Op

Rows = tuple[PackedRow, ...]

_static_rows, _static_spec = parted(collations(RowKind(fewest_rows=2, most_rows=4), static=True))
_fuller_rows, _fuller_spec = parted(collations(RowKind(fewest_documents=3), static=True))
_static_padded_rows, _static_padded_spec = parted(
    collations(RowKind(padded=Padded.EOS, fewest_rows=2, most_rows=4), static=True)
)


@law(
    "COL-007",
    facet="static boundaries",
    needs={Op.COLLATE},
    harm="documents attend to each other in runs with CUDA graphs",
    sources=("P-BOUND", "P-SHAPE", "GR-01"),
    activity=RAGGED,
)
@given(rows=_static_rows, spec=_static_spec)
def test_static_boundaries_separate_the_documents(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Boundaries of a fixed number still begin a segment with every document."""
    separates_the_documents(implementation, rows, spec)


@law(
    "COL-009",
    facet="static boundaries",
    needs={Op.COLLATE},
    harm="kernels are launched for too short a sequence and leave slots out",
    sources=("P-MAXSEQ", "P-SHAPE"),
    activity=RAGGED,
)
@given(rows=_static_rows, spec=_static_spec)
def test_max_seqlen_covers_static_boundaries(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """With static boundaries max_seqlen is no shorter than any segment, and no longer than the batch."""
    for _, batch in collated(implementation, rows, spec):
        longest = int(np.diff(batch.layout.padded).max(initial=0))
        holds(
            longest <= batch.max_seqlen <= len(batch.tokens), "max_seqlen covers every segment", got=batch.max_seqlen
        )


@law(
    "COL-011",
    needs={Op.COLLATE},
    harm="CUDA graphs are replayed with boundaries of another shape",
    sources=("P-SHAPE", "MB-37"),
    activity=RAGGED,
)
@given(rows=_static_rows, spec=_static_spec)
def test_static_boundaries_have_one_shape(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """With static boundaries every boundary array has one length in all batches."""
    _has_one_shape(implementation, rows, spec)


@law(
    "COL-011",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="kernels get boundaries of slots and of tokens that do not fit each other",
    sources=("P-SHAPE", "P-PADDED", "MB-37", "S14"),
    activity=RAGGED,
)
@given(rows=_static_padded_rows, spec=_static_padded_spec)
def test_static_boundaries_of_padded_documents_have_one_shape(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """With static boundaries both boundary arrays have one length, the same in all batches."""
    _has_one_shape(implementation, rows, spec)


@law(
    "COL-011",
    facet="width does not matter",
    needs={Op.COLLATE},
    harm="thousands of empty segments cost kernel time in every step",
    sources=("P-SHAPE", "ML-04"),
)
@given(rows=_static_rows, spec=_static_spec, wider=st.integers(1, 40))
def test_the_number_of_static_boundaries_does_not_grow_with_the_width(
    implementation: Implementation, rows: Rows, spec: CollateSpec, wider: int
) -> None:
    """The number of static boundaries comes from the metadata, not from the width."""
    narrow = _shapes(implementation.collate(rows, [0], spec)[0])
    wide = _shapes(implementation.collate(rows, [0], replace(spec, width=spec.width + wider))[0])
    same(wide, narrow, "a wider batch has as many boundaries")


@law(
    "COL-011",
    facet="more documents than the metadata says",
    needs={Op.COLLATE},
    harm="documents beyond the limit of the kernel attend to each other",
    sources=("P-SHAPE", "P-BOUND", "GR-01", "S27"),
)
@given(rows=_fuller_rows, spec=_fuller_spec)
def test_stale_metadata_are_refused(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """A row with more documents than boundaries can separate is refused with an error that says so."""
    fullest = max(rows, key=lambda row: len(row.starts))
    allowed = len(fullest.starts) - 2  # leaves as many boundaries as documents: one too few, whatever the tail
    stale = replace(spec, metadata=tuple(replace(entry, max_samples_per_bin=allowed) for entry in spec.metadata))
    refuses(
        lambda: implementation.collate([fullest], [0], stale),
        f"a row of {len(fullest.starts)} documents is refused where metadata allow {allowed}",
    )


@law(
    "COL-012",
    facet="no metadata",
    needs={Op.COLLATE},
    harm="CUDA graphs are replayed with boundaries of another shape",
    sources=("P-CFG", "bridge-packing 2.13"),
)
@given(rows=_static_rows, spec=_static_spec)
def test_static_boundaries_without_metadata_are_refused(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Static boundaries without metadata are refused with an error that says so."""
    refuses(lambda: implementation.collate(rows, [0], replace(spec, metadata=())), "missing metadata are refused")


@law(
    "COL-012",
    facet="no static width",
    needs={Op.COLLATE},
    harm="CUDA graphs are replayed with tokens of another shape",
    sources=("P-CFG", "bridge-packing 2.13"),
)
@given(rows=_static_rows, spec=_static_spec)
def test_static_boundaries_without_a_static_width_are_refused(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Static boundaries of batches that are not padded to the width are refused with an error that says so."""
    refuses(lambda: implementation.collate(rows, [0], replace(spec, pad_to_width=False)), "a varying width is refused")


def _shapes(batch: ThdBatch) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in boundary_arrays(batch).items()}


def _has_one_shape(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    shapes = [_shapes(implementation.collate(rows, [index], spec)[0]) for index in range(len(rows))]
    holds(all(shape == shapes[0] for shape in shapes), "all batches have boundaries of one shape", got=shapes)
    holds(len(set(shapes[0].values())) == 1, "all boundary arrays of a batch are equally long", got=shapes[0])
