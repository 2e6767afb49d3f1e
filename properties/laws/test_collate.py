"""Packed rows to batches: tokens, labels, positions and width."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from properties.activities import PADDING, SEVERAL_IN_A_ROW, SINGLE_TOKEN
from properties.claims import refuses, same
from properties.law import law
from properties.readings import (
    batch_width,
    collated,
    holds_the_documents,
    labels_of,
    load,
    separates_the_documents,
    stream_of,
    weights_of,
)
from properties.strategies.lengths import parted
from properties.strategies.rows import Padded, RowKind, Width, collations
from reference_impl.batches import CollateSpec
from reference_impl.documents import PackedRow
from reference_impl.interface import Implementation, Op
from reference_impl.policies import PadPositions

Rows = tuple[PackedRow, ...]

_rows, _spec = parted(collations())
_padded_rows, _padded_spec = parted(collations(RowKind(padded=Padded.EOS)))
_tiny_rows, _tiny_spec = parted(collations(RowKind(empty=True)))
_full_rows, _full_spec = parted(collations(width=Width.FULL))
_multiple_rows, _multiple_spec = parted(collations(width=Width.MULTIPLE))
_wide_rows, _wide_spec = parted(collations(RowKind(fewest_documents=2)))


@law(
    "COL-001",
    needs={Op.COLLATE},
    harm="the model trains on other tokens, or predicts the first token of a foreign document",
    sources=("P-PERM", "P-ALIGN", "TT-01"),
    activity=SEVERAL_IN_A_ROW,
)
@given(rows=_rows, spec=_spec)
def test_batches_hold_the_documents_shifted(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Inputs are all tokens of a document but the last, labels all but the first, and no label crosses a border."""
    holds_the_documents(implementation, rows, spec)


@law(
    "COL-001",
    facet="zero-length document",
    needs={Op.COLLATE},
    harm="a document of a single token shifts the tokens of its neighbours",
    sources=("P-ALIGN", "P-TOTAL", "S44"),
    activity=SINGLE_TOKEN,
)
@given(rows=_tiny_rows, spec=_tiny_spec)
def test_batches_survive_documents_of_one_token(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Documents that fill no slot leave the inputs and labels of the others as they are."""
    holds_the_documents(implementation, rows, spec)


@law(
    "COL-001",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="padding shifts the tokens of later documents",
    sources=("P-ALIGN", "P-PADDED"),
    activity=PADDING,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_batches_hold_padded_documents_shifted(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Inputs and labels of padded documents stand at their slots."""
    holds_the_documents(implementation, rows, spec)


@law(
    "COL-002",
    needs={Op.COLLATE},
    harm="sequence models mix documents, or rotary embeddings run on from one into the next",
    sources=("P-POS", "MB-35"),
    activity=SEVERAL_IN_A_ROW,
)
@given(rows=_rows, spec=_spec)
def test_positions_restart_with_every_document(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Positions count from 0 in every document."""
    for row, batch in collated(implementation, rows, spec):
        stream = stream_of(row)
        same(batch.position_ids[: stream.slots], stream.position_ids, "positions count from 0 in every document")


@law(
    "COL-002",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="rotary rows of a padded document differ between context-parallel ranks",
    sources=("P-POS", "ML-19"),
    activity=PADDING,
    policy=PadPositions.RUN_ON,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_positions_run_on_through_padding(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Positions count from 0 in every document and go on through its padding."""
    for row, batch in collated(implementation, rows, spec):
        stream = stream_of(row)
        same(batch.position_ids[: stream.slots], stream.position_ids, "positions count all slots of a document")


@law(
    "COL-006",
    facet="padded to the width",
    needs={Op.COLLATE},
    harm="compiled graphs and pipeline buffers meet another shape than they were made for",
    sources=("P-SHAPE", "TR-03"),
)
@given(rows=_full_rows, spec=_full_spec)
def test_padded_batches_have_the_full_width(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """With padding to the width, every array of every batch has it."""
    _has_width(implementation, rows, spec, spec.width)


@law(
    "COL-006",
    facet="padded to a multiple",
    needs={Op.COLLATE},
    harm="kernels that need a multiple fall back or fail, or batches are wider than they must be",
    sources=("P-SHAPE", "TR-03", "bridge-packing 2.14"),
)
@given(rows=_multiple_rows, spec=_multiple_spec)
def test_batches_are_as_wide_as_the_longest_row_needs(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Otherwise every array has the width of the longest row, rounded up to the multiple, at most the full width."""
    _has_width(implementation, rows, spec, batch_width(rows, spec))


@law(
    "COL-012",
    facet="row wider than the width",
    needs={Op.COLLATE},
    harm="a stale packed file ends training with a bare AssertionError, or is cut",
    sources=("P-CAP", "ML-02", "bridge-packing 2.14"),
)
@given(rows=_wide_rows, spec=_wide_spec)
def test_a_row_wider_than_the_width_is_refused(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """A row that does not fit the width is refused with an error that says so."""
    widest = max(rows, key=load)
    narrow = replace(spec, width=load(widest) - 1)
    refuses(
        lambda: implementation.collate([widest], [0], narrow),
        f"a row of {load(widest)} slots is refused at a width of {narrow.width}",
    )


@law(
    "COL-013",
    facet="multiple None",
    needs={Op.COLLATE},
    harm="an accepted setting ends training with a TypeError",
    sources=("P-TOTAL", "S7"),
)
@given(rows=_rows, spec=_spec.map(lambda spec: replace(spec, document_multiple=None)))
def test_no_document_multiple_means_no_padding(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Without a document multiple batches are those of a multiple of 1."""
    holds_the_documents(implementation, rows, spec)
    separates_the_documents(implementation, rows, spec)


def _has_width(implementation: Implementation, rows: Rows, spec: CollateSpec, width: int) -> None:
    for _, batch in collated(implementation, rows, spec):
        for name, array in (
            ("tokens", batch.tokens),
            ("labels", labels_of(batch)),
            ("loss_mask", weights_of(batch)),
            ("position_ids", batch.position_ids),
        ):
            same(array.shape, (width,), f"{name} fill {width} slots")
