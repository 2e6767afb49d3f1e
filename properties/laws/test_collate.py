"""Packed rows to batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.readings import (
    ambient_random,
    boundary_arrays,
    ceil_to,
    labels_of,
    load,
    random_state,
    stream_of,
    weights_of,
)
from properties.strategies.lengths import parted
from properties.strategies.rows import Inside, Padded, RowKind, Width, collations
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.interface import Implementation, Op

Rows = tuple[PackedRow, ...]


def _several_documents(rows: Rows, **_: object) -> bool:
    return max(len(row.starts) for row in rows) > 1


def _a_tail(rows: Rows, spec: CollateSpec, **_: object) -> bool:
    return spec.pad_to_width and min(load(row) for row in rows) < spec.width


def _several_counts(rows: Rows, **_: object) -> bool:
    return len({len(row.starts) for row in rows}) > 1


def _some_padding(rows: Rows, **_: object) -> bool:
    return any((stream_of(row).valid < stream_of(row).lengths).any() for row in rows)


def _eos_trained_on(rows: Rows, spec: CollateSpec, **_: object) -> bool:
    return any((stream_of(row).weights & (stream_of(row).tokens == spec.eos_id)).any() for row in rows)


def _real_eos(rows: Rows, spec: CollateSpec, **_: object) -> bool:
    return any((stream_of(row).real & (stream_of(row).tokens == spec.eos_id)).any() for row in rows)


def _a_single_token(rows: Rows, **_: object) -> bool:
    return any((stream_of(row).lengths == 0).any() for row in rows)


SEVERAL = Activity("two or more documents in a row", _several_documents, 0.4)
TAIL = Activity("a row that is narrower than its batch", _a_tail, 0.12)
RAGGED = Activity("rows with different numbers of documents", _several_counts, 0.25)
EOS_TRAINED_ON = Activity("EOS as an input that is trained on", _eos_trained_on, 0.3)
REAL_EOS = Activity("EOS as an input that is no padding", _real_eos, 0.4)
SINGLE_TOKEN = Activity("a document of a single token", _a_single_token, 0.25)
PADDING = Activity("a document with alignment padding", _some_padding, 0.4)

_rows, _spec = parted(collations())
_padded_rows, _padded_spec = parted(collations(RowKind(padded=Padded.EOS)))
_tiny_rows, _tiny_spec = parted(collations(RowKind(empty=True)))


# What a batch holds --------------------------------------------------------------------------------------------------


def _holds_the_documents(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    for row, batch in _collated(implementation, rows, spec):
        stream = stream_of(row)
        same(batch.tokens[: stream.slots], stream.tokens, "the input is every document without its last token")
        same(labels_of(batch)[: stream.slots], stream.labels, "every label is the next token of the same document")


@law(
    "COL-001",
    needs={Op.COLLATE},
    harm="the model trains on other tokens, or predicts the first token of a foreign document",
    sources=("P-PERM", "P-ALIGN", "TT-01"),
    activity=SEVERAL,
)
@given(rows=_rows, spec=_spec)
def test_batches_hold_the_documents_shifted(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Inputs are all tokens of a document but the last, labels all but the first, and no label crosses a border."""
    _holds_the_documents(implementation, rows, spec)


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
    _holds_the_documents(implementation, rows, spec)


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
    _holds_the_documents(implementation, rows, spec)


@law(
    "COL-002",
    needs={Op.COLLATE},
    harm="sequence models mix documents, or rotary embeddings run on from one into the next",
    sources=("P-POS", "MB-35"),
    activity=SEVERAL,
)
@given(rows=_rows, spec=_spec)
def test_positions_restart_with_every_document(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Positions count from 0 in every document."""
    for row, batch in _collated(implementation, rows, spec):
        stream = stream_of(row)
        same(batch.position_ids[: stream.slots], stream.position_ids, "positions count from 0 in every document")


@law(
    "COL-002",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="rotary rows of a padded document differ between context-parallel ranks",
    sources=("P-POS", "ML-19"),
    activity=PADDING,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_positions_run_on_through_padding(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Positions count from 0 in every document and go on through its padding."""
    for row, batch in _collated(implementation, rows, spec):
        stream = stream_of(row)
        same(batch.position_ids[: stream.slots], stream.position_ids, "positions count all slots of a document")


# What is trained on --------------------------------------------------------------------------------------------------


def _trains_where_the_mask_says(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    for row, batch in _collated(implementation, rows, spec):
        stream = stream_of(row)
        same(weights_of(batch)[: stream.slots], stream.weights, "the loss weights are those of the stored mask")


@law(
    "COL-003",
    needs={Op.COLLATE},
    harm="the model trains on prompts, or misses targets",
    sources=("P-MASK", "P-ALIGN"),
    activity=SEVERAL,
)
@given(rows=_rows, spec=_spec)
def test_the_stored_mask_decides_what_is_trained_on(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """With answer-only loss every slot has the weight that the stored mask gives it."""
    _trains_where_the_mask_says(implementation, rows, spec)


_eos_rows, _eos_spec = parted(collations(RowKind(inside=Inside.EOS_INSIDE)))
_tail_rows, _tail_spec = parted(collations(RowKind(inside=Inside.EOS_TAIL)))
_oddly_padded_rows, _oddly_padded_spec = parted(collations(RowKind(padded=Padded.OTHER)))


@law(
    "COL-003",
    facet="EOS in the middle",
    needs={Op.COLLATE},
    harm="the first token of every later turn silently loses its loss",
    sources=("P-MASK", "P-VALUE", "MB-04", "S21"),
    activity=EOS_TRAINED_ON,
)
@given(rows=_eos_rows, spec=_eos_spec)
def test_the_token_after_eos_is_trained_on(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """An input that equals EOS keeps the weight that the stored mask gives it."""
    _trains_where_the_mask_says(implementation, rows, spec)


@law(
    "COL-003",
    facet="tail is EOS",
    needs={Op.COLLATE},
    harm="real targets at the end of a document lose their loss",
    sources=("P-MASK", "P-VALUE", "MB-15", "S21"),
    activity=EOS_TRAINED_ON,
)
@given(rows=_tail_rows, spec=_tail_spec)
def test_several_eos_at_the_end_are_trained_on(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Real EOS tokens at the end of a document keep the weight that the stored mask gives them."""
    _trains_where_the_mask_says(implementation, rows, spec)


@law(
    "COL-003",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="targets of padded documents lose their loss, or padding gains one",
    sources=("P-MASK", "S1"),
    activity=PADDING,
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_padded_documents_are_trained_on_where_the_mask_says(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Slots of padded documents have the weight of the stored mask, and padding has none."""
    _trains_where_the_mask_says(implementation, rows, spec)


@law(
    "COL-003",
    facet="padding is not EOS",
    needs={Op.COLLATE},
    harm="targets of padded documents lose their loss, or padding gains one",
    sources=("P-MASK", "P-VALUE"),
    activity=PADDING,
)
@given(rows=_oddly_padded_rows, spec=_oddly_padded_spec)
def test_the_pad_id_does_not_change_what_is_trained_on(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Where padding is not EOS, slots still have the weight of the stored mask."""
    # The first padding slot follows a real EOS: whether its input is EOS must not matter, as it weighs nothing anyway.
    _trains_where_the_mask_says(implementation, rows, spec)


_all_loss_rows, _all_loss_spec = parted(collations(answer_only_loss=False))
_all_loss_padded_rows, _all_loss_padded_spec = parted(collations(RowKind(padded=Padded.EOS), answer_only_loss=False))


@law(
    "COL-004",
    needs={Op.COLLATE},
    harm="prompts are not trained on although that was asked for",
    sources=("P-MASK", "bridge-packing 2.14"),
    activity=SEVERAL,
)
@given(rows=_all_loss_rows, spec=_all_loss_spec)
def test_without_answer_only_loss_every_token_is_trained_on(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Without answer-only loss every slot of a document weighs 1, whatever the stored mask says."""
    for row, batch in _collated(implementation, rows, spec):
        slots = load(row)
        same(weights_of(batch)[:slots], np.ones(slots), "every slot of a document weighs 1")


@law(
    "COL-004",
    facet="documents padded",
    needs={Op.COLLATE},
    harm="the model trains on padding",
    sources=("P-MASK", "bridge-packing 2.14"),
    activity=PADDING,
)
@given(rows=_all_loss_padded_rows, spec=_all_loss_padded_spec)
def test_without_answer_only_loss_padding_is_not_trained_on(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Without answer-only loss every real slot weighs 1 and padding nothing."""
    for row, batch in _collated(implementation, rows, spec):
        stream = stream_of(row)
        same(weights_of(batch)[: stream.slots], stream.real, "real slots weigh 1, padding nothing")


_all_loss_odd_rows, _all_loss_odd_spec = parted(collations(RowKind(padded=Padded.OTHER), answer_only_loss=False))


@law(
    "COL-004",
    facet="padding is not EOS",
    needs={Op.COLLATE},
    harm="the model trains on padding",
    sources=("P-MASK", "P-VALUE", "S20"),
    activity=PADDING,
)
@given(rows=_all_loss_odd_rows, spec=_all_loss_odd_spec)
def test_without_answer_only_loss_padding_of_another_id_is_not_trained_on(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Without answer-only loss padding that is not EOS weighs nothing either."""
    for row, batch in _collated(implementation, rows, spec):
        real = stream_of(row).real
        padding = weights_of(batch)[: len(real)][~real]
        same(padding, np.zeros(len(padding)), "padding weighs nothing")


@law(
    "COL-005",
    needs={Op.COLLATE},
    harm="padding at the end of a row is trained on",
    sources=("P-MASK", "bridge-packing 2.14"),
    activity=TAIL,
)
@given(rows=_rows, spec=_spec)
def test_the_tail_of_a_row_is_eos_and_weighs_nothing(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Slots behind the last document hold EOS and have no weight."""
    for row, batch in _collated(implementation, rows, spec):
        tail = batch.tokens[load(row) :]
        same(tail, np.full(len(tail), spec.eos_id), "the tail holds EOS")
        same(weights_of(batch)[load(row) :], np.zeros(len(tail)), "the tail weighs nothing")


@law(
    "COL-005",
    facet="without answer-only loss",
    needs={Op.COLLATE},
    harm="padding at the end of a row is trained on",
    sources=("P-MASK", "bridge-packing 2.14"),
    activity=TAIL,
)
@given(rows=_all_loss_rows, spec=_all_loss_spec)
def test_without_answer_only_loss_the_tail_weighs_nothing(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Without answer-only loss slots behind the last document still have no weight."""
    for row, batch in _collated(implementation, rows, spec):
        tail = weights_of(batch)[load(row) :]
        same(tail, np.zeros(len(tail)), "the tail weighs nothing")


# Width ---------------------------------------------------------------------------------------------------------------

_full_rows, _full_spec = parted(collations(width=Width.FULL))
_multiple_rows, _multiple_spec = parted(collations(width=Width.MULTIPLE))


def _has_width(implementation: Implementation, rows: Rows, spec: CollateSpec, width: int) -> None:
    for _, batch in _collated(implementation, rows, spec):
        for name, array in (
            ("tokens", batch.tokens),
            ("labels", labels_of(batch)),
            ("loss_mask", weights_of(batch)),
            ("position_ids", batch.position_ids),
        ):
            same(array.shape, (width,), f"{name} fill {width} slots")


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
    longest = max(load(row) for row in rows)
    _has_width(implementation, rows, spec, min(spec.width, ceil_to(longest, spec.width_multiple)))


# Boundaries ----------------------------------------------------------------------------------------------------------


def _separates_the_documents(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    for row, batch in _collated(implementation, rows, spec):
        stream = stream_of(row)
        n, bounds = len(stream.starts), batch.layout.padded
        same(bounds[:n], stream.starts, "every document begins a segment")
        holds(len(bounds) > n, "the last document's segment has an end", got=bounds)
        same(int(bounds[-1]), len(batch.tokens), "the last boundary is the number of slots")
        allowed = {stream.slots, len(batch.tokens)}
        holds(set(bounds[n:].tolist()) <= allowed, "behind the documents there is only the tail", got=bounds)
        holds((np.diff(bounds) >= 0).all(), "boundaries never decrease", got=bounds)


@law(
    "COL-007",
    needs={Op.COLLATE},
    harm="documents attend to each other",
    sources=("P-BOUND", "ML-05", "ML-28", "AX-02"),
    activity=SEVERAL,
)
@given(rows=_rows, spec=_spec)
def test_boundaries_separate_the_documents(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Every document begins a segment, the last one ends with the slots, and the tail adds one segment at most."""
    _separates_the_documents(implementation, rows, spec)


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
    _separates_the_documents(implementation, rows, spec)


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
    _separates_the_documents(implementation, rows, spec)


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
    _separates_the_documents(implementation, rows, spec)


def _knows_valid_lengths(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    for row, batch in _collated(implementation, rows, spec):
        stream = stream_of(row)
        same(np.diff(batch.layout.valid)[: len(stream.valid)], stream.valid, "every document has its own length")


@law(
    "COL-008",
    needs={Op.COLLATE},
    harm="attention misses the end of documents, or reads beyond it",
    sources=("P-VALUE", "P-BOUND"),
    activity=SEVERAL,
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
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_valid_lengths_leave_padding_out(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Valid lengths count the real slots of each document, and nothing behind the last one."""
    for row, batch in _collated(implementation, rows, spec):
        stream, valid = stream_of(row), batch.layout.valid
        same(np.diff(valid)[: len(stream.valid)], stream.valid, "every document has its length without padding")
        same(int(valid[-1]), int(stream.valid.sum()), "the tail holds nothing that is valid")


_eos_padded_rows, _eos_padded_spec = parted(collations(RowKind(Inside.EOS_INSIDE, Padded.EOS)))
_tail_padded_rows, _tail_padded_spec = parted(collations(RowKind(Inside.EOS_TAIL, Padded.EOS)))
_only_eos_rows, _only_eos_spec = parted(collations(RowKind(Inside.ONLY_EOS, Padded.EOS)))


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
    for _, batch in _collated(implementation, rows, spec):
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
    for _, batch in _collated(implementation, rows, spec):
        same(batch.max_seqlen, int(np.diff(batch.layout.padded).max(initial=0)), "max_seqlen is the longest segment")


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
    for _, batch in _collated(implementation, rows, spec):
        longest = int(np.diff(batch.layout.padded).max(initial=0))
        holds(
            longest <= batch.max_seqlen <= len(batch.tokens), "max_seqlen covers every segment", got=batch.max_seqlen
        )


@law(
    "COL-010",
    needs={Op.COLLATE},
    harm="kernels refuse the boundaries, or read them as another type",
    sources=("P-BOUND",),
)
@given(rows=_padded_rows, spec=_padded_spec)
def test_boundaries_for_kernels_are_int32(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    """Boundary arrays that a target hands on are int32 and start at 0."""
    for _, batch in _collated(implementation, rows, spec):
        for name in batch.raw.keys() & boundary_arrays(batch).keys():
            same(batch.raw[name].dtype, np.dtype(np.int32), f"{name} is int32")
            same(int(batch.raw[name].reshape(-1)[0]), 0, f"{name} starts at 0")


# Static boundaries ---------------------------------------------------------------------------------------------------


def _shapes(batch: ThdBatch) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in boundary_arrays(batch).items()}


def _has_one_shape(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    shapes = [_shapes(implementation.collate(rows, [index], spec)[0]) for index in range(len(rows))]
    holds(all(shape == shapes[0] for shape in shapes), "all batches have boundaries of one shape", got=shapes)
    holds(len(set(shapes[0].values())) == 1, "all boundary arrays of a batch are equally long", got=shapes[0])


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


_wide_rows, _wide_spec = parted(collations(RowKind(fewest_documents=2)))


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
    _holds_the_documents(implementation, rows, spec)
    _separates_the_documents(implementation, rows, spec)


# Samples -------------------------------------------------------------------------------------------------------------

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
    for position, (row, beside) in enumerate(_collated(implementation, rows, spec)):
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


def _weighs_nothing(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    fillers = [-number for number in range(1, len(rows) + 1)]
    batches = implementation.collate(rows, [0, *fillers], spec)
    for index, batch in zip(fillers, batches[1:], strict=True):
        weights = weights_of(batch)
        same(weights, np.zeros(len(batch.tokens)), f"the filler {index} weighs nothing")


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


def _collated(implementation: Implementation, rows: Rows, spec: CollateSpec) -> list[tuple[PackedRow, ThdBatch]]:
    """Each row with its batch."""
    batches = implementation.collate(rows, range(len(rows)), spec)
    holds(len(batches) == len(rows), "there is one batch for each sample", got=len(batches), expected=len(rows))
    return list(zip(rows, batches, strict=True))
