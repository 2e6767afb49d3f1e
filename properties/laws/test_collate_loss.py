"""Packed rows to batches: what is trained on."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from properties.activities import EOS_TRAINED_ON, PADDING, SEVERAL_IN_A_ROW, TAIL
from properties.claims import same
from properties.law import law
from properties.readings import (
    collated,
    load,
    stream_of,
    weights_of,
)
from properties.strategies.lengths import parted
from properties.strategies.rows import Inside, Padded, RowKind, collations
from reference_impl.batches import CollateSpec
from reference_impl.documents import PackedRow
from reference_impl.interface import Implementation, Op

Rows = tuple[PackedRow, ...]

_rows, _spec = parted(collations())
_padded_rows, _padded_spec = parted(collations(RowKind(padded=Padded.EOS)))
_eos_rows, _eos_spec = parted(collations(RowKind(inside=Inside.EOS_INSIDE)))
_tail_rows, _tail_spec = parted(collations(RowKind(inside=Inside.EOS_TAIL)))
_oddly_padded_rows, _oddly_padded_spec = parted(collations(RowKind(padded=Padded.OTHER)))
_all_loss_rows, _all_loss_spec = parted(collations(answer_only_loss=False))
_all_loss_padded_rows, _all_loss_padded_spec = parted(collations(RowKind(padded=Padded.EOS), answer_only_loss=False))
_all_loss_odd_rows, _all_loss_odd_spec = parted(collations(RowKind(padded=Padded.OTHER), answer_only_loss=False))


@law(
    "COL-003",
    needs={Op.COLLATE},
    harm="the model trains on prompts, or misses targets",
    sources=("P-MASK", "P-ALIGN"),
    activity=SEVERAL_IN_A_ROW,
)
@given(rows=_rows, spec=_spec)
def test_the_stored_mask_decides_what_is_trained_on(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """With answer-only loss every slot has the weight that the stored mask gives it."""
    _trains_where_the_mask_says(implementation, rows, spec)


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


@law(
    "COL-004",
    needs={Op.COLLATE},
    harm="prompts are not trained on although that was asked for",
    sources=("P-MASK", "bridge-packing 2.14"),
    activity=SEVERAL_IN_A_ROW,
)
@given(rows=_all_loss_rows, spec=_all_loss_spec)
def test_without_answer_only_loss_every_token_is_trained_on(
    implementation: Implementation, rows: Rows, spec: CollateSpec
) -> None:
    """Without answer-only loss every slot of a document weighs 1, whatever the stored mask says."""
    for row, batch in collated(implementation, rows, spec):
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
    for row, batch in collated(implementation, rows, spec):
        stream = stream_of(row)
        same(weights_of(batch)[: stream.slots], stream.real, "real slots weigh 1, padding nothing")


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
    for row, batch in collated(implementation, rows, spec):
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
    for row, batch in collated(implementation, rows, spec):
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
    for row, batch in collated(implementation, rows, spec):
        tail = weights_of(batch)[load(row) :]
        same(tail, np.zeros(len(tail)), "the tail weighs nothing")


def _trains_where_the_mask_says(implementation: Implementation, rows: Rows, spec: CollateSpec) -> None:
    for row, batch in collated(implementation, rows, spec):
        stream = stream_of(row)
        same(weights_of(batch)[: stream.slots], stream.weights, "the loss weights are those of the stored mask")
