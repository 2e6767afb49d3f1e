"""Packed rows to batches: where documents begin and end."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from properties.activities import PADDING, REAL_EOS, SEVERAL_IN_A_ROW, SINGLE_TOKEN, TAIL
from properties.claims import same
from properties.law import law
from properties.readings import (
    boundary_arrays,
    collated,
    separates_the_documents,
    stream_of,
)
from properties.strategies.lengths import parted
from properties.strategies.rows import Inside, Padded, RowKind, collations
from reference_impl.batches import CollateSpec
from reference_impl.documents import PackedRow
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Boundaries

Rows = tuple[PackedRow, ...]

_rows, _spec = parted(collations())
_padded_rows, _padded_spec = parted(collations(RowKind(padded=Padded.EOS)))
_tiny_rows, _tiny_spec = parted(collations(RowKind(empty=True)))
_oddly_padded_rows, _oddly_padded_spec = parted(collations(RowKind(padded=Padded.OTHER)))
_eos_padded_rows, _eos_padded_spec = parted(collations(RowKind(Inside.EOS_INSIDE, Padded.EOS)))
_tail_padded_rows, _tail_padded_spec = parted(collations(RowKind(Inside.EOS_TAIL, Padded.EOS)))
_only_eos_rows, _only_eos_spec = parted(collations(RowKind(Inside.ONLY_EOS, Padded.EOS)))


@law(
    "COL-007",
    needs={Op.COLLATE},
    harm="documents attend to each other",
    sources=("P-BOUND", "ML-05", "ML-28", "AX-02"),
    activity=SEVERAL_IN_A_ROW,
)
@given(rows=_rows, spec=_spec)
def test_boundaries_separate_the_documents(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Every document begins a segment, the last one ends with the slots, and the tail adds one segment at most."""
    separates_the_documents(implementation, rows, spec)


@law(
    "COL-007",
    facet="zero-length document",
    needs={Op.COLLATE},
    harm="a document of a single token shifts the borders of its neighbours",
    sources=("P-BOUND", "P-TOTAL", "S44"),
    activity=SINGLE_TOKEN,
)
@given(rows=_tiny_rows, spec=_tiny_spec)
def test_boundaries_survive_documents_of_one_token(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Documents that fill no slot make segments without a slot."""
    separates_the_documents(implementation, rows, spec)


@law(
    "COL-007",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="documents attend to each other, or context parallelism cuts them at wrong places",
    sources=("P-BOUND", "P-PADDED"),
    activity=PADDING,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_boundaries_of_slots_include_padding(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Boundaries of slots count the alignment padding of every document."""
    separates_the_documents(implementation, rows, spec)


@law(
    "COL-008",
    needs={Op.COLLATE},
    harm="attention misses the end of documents, or reads beyond it",
    sources=("P-VALUE", "P-BOUND"),
    activity=SEVERAL_IN_A_ROW,
)
@given(rows=_rows, spec=_spec)
def test_valid_lengths_are_those_of_the_documents(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Without alignment padding every document's valid length is all its slots."""
    _knows_valid_lengths(implementation, rows, spec)


@law(
    "COL-008",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="padding is attended to as if it were text",
    sources=("P-PADDED", "P-VALUE", "ML-30"),
    activity=PADDING,
    policy=Boundaries.SLOTS_AND_VALID,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_valid_lengths_leave_padding_out(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Valid lengths count the real slots of each document, and nothing behind the last one."""
    for row, batch in collated(implementation, rows, spec):
        stream, valid = stream_of(row), batch.layout.valid
        same(np.diff(valid)[: len(stream.valid)], stream.valid, "every document has its length without padding")
        same(int(valid[-1]), int(stream.valid.sum()), "the tail holds nothing that is valid")


@law(
    "COL-008",
    facet="EOS in the middle",
    needs={Op.COLLATE},
    harm="attention sees multi-turn documents only up to the end of an early turn",
    sources=("P-VALUE", "MB-14", "NM-04"),
    activity=REAL_EOS,
)
@given(rows=_eos_padded_rows, spec=_eos_padded_spec)
def test_eos_inside_does_not_end_a_document(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """A document's valid length does not depend on EOS between its tokens."""
    _knows_valid_lengths(implementation, rows, spec)


@law(
    "COL-008",
    facet="tail is EOS",
    needs={Op.COLLATE},
    harm="real targets lie outside of every segment that attention sees",
    sources=("P-VALUE", "MB-15", "S21"),
    activity=REAL_EOS,
)
@given(rows=_tail_padded_rows, spec=_tail_padded_spec)
def test_eos_at_the_end_is_not_taken_for_padding(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """A document's valid length counts every real EOS at its end."""
    _knows_valid_lengths(implementation, rows, spec)


@law(
    "COL-008",
    facet="nothing but EOS",
    needs={Op.COLLATE},
    harm="a document of EOS alone gets no length, and its kernel call is undefined",
    sources=("P-VALUE", "P-TOTAL", "MB-15", "S21"),
    activity=REAL_EOS,
)
@given(rows=_only_eos_rows, spec=_only_eos_spec)
def test_a_document_of_eos_has_its_length(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """A document of nothing but EOS has the length it has."""
    _knows_valid_lengths(implementation, rows, spec)


@law(
    "COL-008",
    facet="padding is not EOS",
    needs={Op.COLLATE},
    harm="padding is attended to as if it were text",
    sources=("P-VALUE", "S20"),
    activity=PADDING,
)
@given(rows=_oddly_padded_rows, spec=_oddly_padded_spec)
def test_the_pad_id_does_not_change_valid_lengths(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """A document's valid length does not depend on which id its padding has."""
    _knows_valid_lengths(implementation, rows, spec)


@law(
    "COL-009",
    needs={Op.COLLATE},
    harm="kernels are launched for too short a sequence and leave slots out",
    sources=("P-MAXSEQ",),
    activity=TAIL,
)
@given(rows=_rows, spec=_spec)
def test_max_seqlen_is_the_longest_segment(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """max_seqlen is the longest segment in slots, that of the tail included."""
    for _, batch in collated(implementation, rows, spec):
        same(batch.max_seqlen, int(np.diff(batch.layout.padded).max(initial=0)), "max_seqlen is the longest segment")


@law(
    "COL-009",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="kernels are launched for too short a sequence and leave slots out",
    sources=("P-MAXSEQ", "P-PADDED"),
    activity=PADDING,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_max_seqlen_includes_padding(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """max_seqlen is the longest segment in slots, alignment padding included."""
    for _, batch in collated(implementation, rows, spec):
        same(batch.max_seqlen, int(np.diff(batch.layout.padded).max(initial=0)), "max_seqlen is the longest segment")


@law(
    "COL-010",
    needs={Op.COLLATE},
    harm="kernels refuse the boundaries, or read them as another type",
    sources=("P-BOUND",),
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_boundaries_for_kernels_are_int32(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Boundary arrays that a target hands on are int32 and start at 0."""
    for _, batch in collated(implementation, rows, spec):
        for name in batch.raw.keys() & boundary_arrays(batch).keys():
            same(batch.raw[name].dtype, np.dtype(np.int32), f"{name} is int32")
            same(int(batch.raw[name].reshape(-1)[0]), 0, f"{name} starts at 0")


def _knows_valid_lengths(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    for row, batch in collated(implementation, rows, spec):
        stream = stream_of(row)
        same(np.diff(batch.layout.valid)[: len(stream.valid)], stream.valid, "every document has its own length")
