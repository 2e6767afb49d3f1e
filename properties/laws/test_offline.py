"""Offline packing as a whole: documents to rows, in memory and on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis.errors import UnsatisfiedAssumption

from properties.claims import Broken, holds, is_deliberate, refuses, same
from properties.law import Activity, law
from properties.readings import (
    ambient_random,
    bins_of,
    ceil_to,
    lengths_of,
    load,
    matched,
    metadata_of,
    pairs_in,
    random_state,
    runtime,
    segments_in,
    segments_of,
    tokens_of,
    trainable,
    trained_pairs,
)
from properties.strategies.documents import Answers, Kind, Run, Tokens, packings
from properties.strategies.lengths import multiples, parted
from reference_impl.batches import CollateSpec
from reference_impl.documents import Document, Fate, Overlong, PackedDataset, PackedRow, PackSpec
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op, PreparedFiles

Documents = tuple[Document, ...]


def _three_documents(documents: Documents, **_: object) -> bool:
    return len(documents) > 2


def _more_than_a_pack(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return int(lengths_of(documents).sum()) > spec.capacity


def _a_long_one(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return max(lengths_of(documents)) > min(spec.max_length, spec.capacity)


def _eos_inside(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return any(spec.eos_id in document.tokens[:-2] for document in documents)


def _eos_tail(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return any(len(document.tokens) > 1 and document.tokens[-2] == spec.eos_id for document in documents)


def _pad_id_inside(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return any(spec.pad_id in document.tokens[:-1] for document in documents)


def _needs_padding(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return bool((lengths_of(documents) % (spec.pad_multiple or 1)).any())


SEVERAL = Activity("three or more documents", _three_documents, 0.2)
SEVERAL_PACKS = Activity("more documents than a pack holds", _more_than_a_pack, 0.15)
EOS_INSIDE = Activity("EOS between other tokens", _eos_inside, 0.3)
EOS_TAIL = Activity("several EOS at the end of a document", _eos_tail, 0.3)
PAD_ID_INSIDE = Activity("the pad id between other tokens", _pad_id_inside, 0.3)
NEEDS_PADDING = Activity("a document that is no multiple", _needs_padding, 0.8)
OVERLONG = Activity("an over-long document", _a_long_one, 0.9)

_documents, _spec = parted(packings())
_padded_documents, _padding_spec = parted(packings(multiple_of=multiples))


# Every document ------------------------------------------------------------------------------------------------------


@law(
    "PCK-001",
    needs={Op.PACK_DOCUMENTS},
    harm="documents are trained on twice, cut, or never",
    sources=("P-PERM",),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_packing_keeps_every_document_once(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The segments of all packs are the documents, each whole and exactly once."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-001",
    facet="documents padded",
    needs={Op.PACK_DOCUMENTS},
    harm="documents lose tokens when they are aligned for context parallelism",
    sources=("P-PERM", "P-PADDED"),
    activity=NEEDS_PADDING,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_packing_keeps_every_padded_document_once(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Each document is there whole and exactly once, followed by nothing but padding."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


_aligned_documents, _aligned_spec = parted(packings(Run.ALIGNED, multiple_of=multiples))


@law(
    "PCK-001",
    facet="aligned document",
    needs={Op.PACK_DOCUMENTS},
    harm="documents carry a whole multiple of padding for nothing, and the longest no longer fit",
    sources=("P-PADDED", "MB-08", "S11"),
)
@given(documents=_aligned_documents, spec=_aligned_spec)
def test_packing_adds_no_padding_to_aligned_documents(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Each document is there once, padded to the next multiple, or not at all when it is one already."""
    rows = implementation.pack_documents(documents, spec).rows
    for document, segment in matched(documents, rows):
        expected = ceil_to(runtime(document), spec.pad_multiple or 1) + 1
        same(len(segment.tokens), expected, "each document is padded to the next multiple")


@law(
    "PCK-001",
    facet="multiple None",
    needs={Op.PACK_DOCUMENTS},
    harm="an accepted setting ends the preparation with a TypeError",
    sources=("P-TOTAL", "S7"),
)
@given(documents=_documents, spec=_spec.map(lambda spec: replace(spec, pad_multiple=None)))
def test_packing_without_a_multiple_keeps_every_document_once(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Without a multiple each document is there whole and exactly once."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


_fitting_documents, _fitting_spec = parted(packings(Run.AT_LIMIT))


@law(
    "PCK-001",
    facet="exactly at the limit",
    needs={Op.PACK_DOCUMENTS},
    harm="the longest documents lose their last token, which is EOS",
    sources=("P-PERM", "MB-08", "S12"),
)
@given(documents=_fitting_documents, spec=_fitting_spec)
def test_packing_keeps_a_document_that_fills_a_pack(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A document exactly as long as the limit and the capacity is there whole."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


_eos_documents, _eos_spec = parted(packings(kind=Kind(Tokens.EOS_INSIDE)))
_tail_documents, _tail_spec = parted(packings(kind=Kind(Tokens.EOS_TAIL), multiple_of=multiples))
_open_documents, _open_spec = parted(packings(kind=Kind(Tokens.NO_EOS)))
_odd_documents, _odd_spec = parted(packings(kind=Kind(Tokens.PAD_INSIDE, pad_is_eos=False)))


@law(
    "PCK-001",
    facet="EOS in the middle",
    needs={Op.PACK_DOCUMENTS},
    harm="multi-turn documents are cut at the end of a turn",
    sources=("P-VALUE", "MB-14"),
    activity=EOS_INSIDE,
)
@given(documents=_eos_documents, spec=_eos_spec)
def test_packing_keeps_documents_with_eos_inside(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """EOS between the tokens of a document does not end it."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-001",
    facet="tail is EOS",
    needs={Op.PACK_DOCUMENTS},
    harm="real tokens at the end of a document are taken for padding",
    sources=("P-VALUE", "MB-15"),
    activity=EOS_TAIL,
)
@given(documents=_tail_documents, spec=_tail_spec)
def test_packing_keeps_documents_that_end_in_several_eos(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Several EOS at the end of a document are kept, padding or not."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-001",
    facet="no EOS at the end",
    needs={Op.PACK_DOCUMENTS},
    harm="an EOS that the chat template does not have is trained on",
    sources=("P-PERM", "MB-33"),
    activity=SEVERAL,
)
@given(documents=_open_documents, spec=_open_spec)
def test_packing_adds_no_token(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """A document that ends in another token than EOS stays as it is."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-001",
    facet="content equals the pad id",
    needs={Op.PACK_DOCUMENTS},
    harm="tokens that look like padding are lost",
    sources=("P-VALUE", "S33"),
    activity=PAD_ID_INSIDE,
)
@given(documents=_odd_documents, spec=_odd_spec)
def test_packing_keeps_documents_that_hold_the_pad_id(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Tokens that equal the pad id are tokens like any others."""
    _keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


_tiny_documents, _tiny_spec = parted(packings(Run.EOS_ALONE))
_empty_documents, _empty_spec = parted(packings(Run.EMPTY))


@law(
    "PCK-001",
    facet="document of one token",
    needs={Op.PACK_DOCUMENTS},
    harm="a document that fills no slot shifts the borders of its neighbours",
    sources=("P-PERM", "P-TOTAL", "S44"),
)
@given(documents=_tiny_documents, spec=_tiny_spec)
def test_packing_survives_a_document_of_one_token(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A document that fills no slot is kept or dropped; all others are there whole and exactly once."""
    rows = implementation.pack_documents(documents, spec).rows
    stored = [segment.tokens for segment in segments_in(rows) if len(segment.tokens) > 1]
    expected = sorted(tokens_of(document) for document in documents if runtime(document) > 0)
    same(stored, expected, "every document that fills a slot is there whole, once")


@law(
    "PCK-001",
    facet="document without a token",
    needs={Op.PACK_DOCUMENTS},
    harm="one empty document ends the preparation, or cuts its neighbours",
    sources=("P-PERM", "P-TOTAL", "S37"),
)
@given(documents=_empty_documents, spec=_empty_spec)
def test_packing_survives_a_document_without_a_token(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A document without a token is dropped or refused; all others are there whole and exactly once."""
    packed = _packed_or_refused(implementation, documents, spec)
    if packed is not None:
        stored = [segment.tokens for segment in segments_in(packed.rows) if segment.tokens]
        expected = sorted(tokens_of(document) for document in documents if len(document.tokens))
        same(stored, expected, "every document that has a token is there whole, once")


# Over-long documents -------------------------------------------------------------------------------------------------

_long_documents, _short_spec = parted(packings(Run.OVER_LIMIT))
_huge_documents, _small_spec = parted(packings(Run.OVER_CAPACITY))
_long_padded_documents, _short_padding_spec = parted(packings(Run.OVER_LIMIT, multiple_of=multiples))
_near_documents, _near_spec = parted(packings(Run.NEAR_LIMIT, multiple_of=multiples))


@law(
    "PCK-002",
    facet="longer than allowed",
    needs={Op.PACK_DOCUMENTS},
    harm="one long document ends the preparation, or changes the documents beside it",
    sources=("P-CAP", "P-TOTAL", "MB-09", "AM-05"),
    activity=OVERLONG,
)
@given(documents=_long_documents, spec=_short_spec)
def test_a_document_longer_than_allowed_harms_no_other(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """An over-long document is truncated, dropped or refused; packs hold at most their capacity, others are whole."""
    _treats_overlong(implementation, documents, spec)


@law(
    "PCK-002",
    facet="longer than the capacity",
    needs={Op.PACK_DOCUMENTS},
    harm="the preparation dies with a bare KeyError, or a row is wider than the buffers",
    sources=("P-CAP", "P-TOTAL", "MB-10", "S6"),
    activity=OVERLONG,
)
@given(documents=_huge_documents, spec=_small_spec)
def test_a_document_longer_than_a_pack_harms_no_other(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A document longer than a pack is truncated, dropped or refused; packs hold at most their capacity."""
    _treats_overlong(implementation, documents, spec)


@law(
    "PCK-002",
    facet="truncated and padded",
    needs={Op.PACK_DOCUMENTS},
    harm="context parallelism crashes on truncated documents",
    sources=("P-PADDED", "MB-08", "S12"),
    activity=OVERLONG,
)
@given(documents=_long_padded_documents, spec=_short_padding_spec)
def test_a_truncated_document_is_a_multiple_too(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Whatever becomes of an over-long document, every segment's runtime length is a multiple."""
    packed = _packed_or_refused(implementation, documents, spec)
    if packed is not None:
        _pads_to_multiples(packed.rows, spec)


@law(
    "PCK-002",
    facet="limit that is no multiple",
    needs={Op.PACK_DOCUMENTS},
    harm="context parallelism crashes on the longest documents",
    sources=("P-PADDED", "MB-08", "S10"),
)
@given(documents=_near_documents, spec=_near_spec)
def test_a_document_near_an_odd_limit_is_a_multiple_too(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Where the next multiple exceeds the longest allowed length, every segment's runtime length is a multiple."""
    packed = _packed_or_refused(implementation, documents, spec)
    if packed is not None:
        _pads_to_multiples(packed.rows, spec)


_dropped_documents, _dropping_spec = parted(packings(Run.OVER_LIMIT, overlong=Overlong.DROP))
_refused_documents, _refusing_spec = parted(packings(Run.OVER_LIMIT, overlong=Overlong.REJECT))


@law(
    "PCK-003",
    facet="drop",
    needs={Op.PACK_DOCUMENTS},
    harm="fragments of documents are trained on although dropping was asked for",
    sources=("P-STAT", "AM-05"),
    activity=OVERLONG,
)
@given(documents=_dropped_documents, spec=_dropping_spec)
def test_dropping_leaves_no_fragment(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """With the policy to drop, exactly the documents that fit are there, whole."""
    fitting = tuple(document for document in documents if runtime(document) <= spec.max_length)
    packed = _packed_or_refused(implementation, documents, spec)
    holds((packed is not None) == bool(fitting), "packing is refused exactly when no document fits")
    if packed is not None:
        _keeps_every_document(fitting, packed.rows, spec)


@law(
    "PCK-003",
    facet="reject",
    needs={Op.PACK_DOCUMENTS},
    harm="data are cut although that was forbidden",
    sources=("P-CFG", "AM-05"),
    activity=OVERLONG,
)
@given(documents=_refused_documents, spec=_refusing_spec)
def test_rejecting_refuses_an_overlong_document(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """With the policy to reject, an over-long document is refused with an error that says so."""
    refuses(lambda: implementation.pack_documents(documents, spec), "an over-long document is refused")


@law(
    "PCK-004",
    facet="no document",
    needs={Op.PACK_DOCUMENTS},
    harm="an empty split ends the preparation with a ZeroDivisionError",
    sources=("P-TOTAL", "S36"),
)
@given(spec=_spec)
def test_packing_no_document_is_refused(implementation: Implementation, spec: PackSpec) -> None:
    """An empty data set is refused with an error that says so."""
    refuses(lambda: implementation.pack_documents((), spec), "an empty data set is refused")


@law(
    "PCK-004",
    facet="every document dropped",
    needs={Op.PACK_DOCUMENTS},
    harm="the preparation dies with an IndexError when all documents are too long",
    sources=("P-TOTAL", "AM-05"),
)
@given(documents=_dropped_documents, spec=_dropping_spec)
def test_packing_only_dropped_documents_is_refused(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A data set of which every document is dropped is refused with an error that says so."""
    overlong = tuple(document for document in documents if runtime(document) > spec.max_length)
    refuses(lambda: implementation.pack_documents(overlong, spec), "a data set without a fitting document is refused")


# Packs ---------------------------------------------------------------------------------------------------------------


@law(
    "PCK-005",
    needs={Op.PACK_DOCUMENTS},
    harm="a row is wider than the buffers, and training stops or cuts it",
    sources=("P-CAP", "AX-01"),
    activity=SEVERAL_PACKS,
)
@given(documents=_documents, spec=_spec)
def test_no_pack_exceeds_the_capacity(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """Every pack fills at most as many slots as the capacity."""
    _fits_the_capacity(implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-005",
    facet="documents padded",
    needs={Op.PACK_DOCUMENTS},
    harm="padding that was not counted makes a row wider than the buffers",
    sources=("P-CAP", "P-PADDED"),
    activity=SEVERAL_PACKS,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_no_pack_of_padded_documents_exceeds_the_capacity(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Padding counts: every pack fills at most as many slots as the capacity."""
    _fits_the_capacity(implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-006",
    needs={Op.PACK_DOCUMENTS},
    harm="context parallelism crashes, or cuts documents at different places on different ranks",
    sources=("P-PADDED", "MB-08"),
    activity=NEEDS_PADDING,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_every_padded_document_is_a_multiple(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Every segment's runtime length is a multiple of what documents are padded to."""
    _pads_to_multiples(implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-007",
    needs={Op.PACK_DOCUMENTS},
    harm="static boundary arrays are too short, or the number of steps is planned wrongly",
    sources=("P-STAT", "P-SHAPE"),
    activity=SEVERAL_PACKS,
)
@given(documents=_documents, spec=_spec)
def test_metadata_describes_the_packs(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """The statistics are those of the packs."""
    packed = implementation.pack_documents(documents, spec)
    holds(len(packed.rows) > 0, "there is a pack")
    same(packed.metadata, metadata_of(bins_of(packed.rows), spec.capacity), "the statistics are those of the packs")


@law(
    "PCK-008",
    needs={Op.PACK_DOCUMENTS},
    harm="nobody can tell what became of a document",
    sources=("P-PERM", "P-STAT"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_the_ledger_finds_every_document(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """Where a ledger is kept, it has one entry per document, in order, and each entry leads to its segment."""
    _has_a_true_ledger(documents, implementation.pack_documents(documents, spec))


@law(
    "PCK-008",
    facet="over-long document",
    needs={Op.PACK_DOCUMENTS},
    harm="nobody can tell which documents were cut or dropped",
    sources=("P-PERM", "P-STAT", "MB-09"),
    activity=OVERLONG,
)
@given(documents=_long_documents, spec=_short_spec)
def test_the_ledger_tells_what_became_of_overlong_documents(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Where a ledger is kept, it says of every document whether it is whole, truncated or dropped."""
    _has_a_true_ledger(documents, _packed_at_all(implementation, documents, spec))


# What is trained on --------------------------------------------------------------------------------------------------


@law(
    "PCK-009",
    needs={Op.PACK_DOCUMENTS},
    harm="the model trains on prompts, or misses the first token of every answer",
    sources=("P-ALIGN", "P-MASK"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_packs_train_on_the_answers(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """A slot is trained on exactly when the token after it is a target of the same document."""
    _trains_what_documents_want(documents, implementation.pack_documents(documents, spec).rows)


_masked_documents, _masked_spec = parted(packings(kind=Kind(answers=Answers.MASK)))
_padded_masked_documents, _padding_masked_spec = parted(
    packings(kind=Kind(answers=Answers.MASK), multiple_of=multiples)
)


@law(
    "PCK-009",
    facet="own loss mask",
    needs={Op.PACK_DOCUMENTS},
    harm="multi-turn training starts one token late and trains on the token after each answer",
    sources=("P-ALIGN", "P-EQUIV", "NM-03"),
    activity=SEVERAL,
)
@given(documents=_masked_documents, spec=_masked_spec)
def test_packs_train_where_loss_masks_say(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A document's own mask decides what of it is trained on."""
    _trains_what_documents_want(documents, implementation.pack_documents(documents, spec).rows)


@law(
    "PCK-009",
    facet="own loss mask, documents padded",
    needs={Op.PACK_DOCUMENTS},
    harm="chat data cannot be prepared for context parallelism, or masks slide over foreign tokens",
    sources=("P-ALIGN", "P-MASK", "MB-25", "S9"),
    activity=NEEDS_PADDING,
)
@given(documents=_padded_masked_documents, spec=_padding_masked_spec)
def test_packs_of_padded_documents_train_where_loss_masks_say(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A document's own mask decides what of it is trained on, and its padding is not."""
    rows = implementation.pack_documents(documents, spec).rows
    for document, segment in matched(documents, rows):
        wanted = trainable(document)[1:].tolist()
        padding = [False] * (len(segment.tokens) - len(document.tokens))
        same(list(segment.trained), wanted + padding, "targets are trained on, and padding is not")


@law(
    "PCK-009",
    facet="truncated",
    needs={Op.PACK_DOCUMENTS},
    harm="the model trains on the prompts of truncated documents",
    sources=("P-MASK", "MB-34"),
    activity=OVERLONG,
)
@given(documents=_long_documents, spec=_short_spec)
def test_truncation_makes_no_new_targets(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """Every token that is trained on after truncation was a target of its document before."""
    packed = _packed_at_all(implementation, documents, spec)
    targets = {int(token) for document in documents for token in document.tokens[trainable(document)]}
    trained = {
        token
        for segment in segments_in(packed.rows)
        for token, is_trained in zip(segment.tokens[1:], segment.trained, strict=True)
        if is_trained
    }
    holds(trained <= targets, "nothing is trained on that was no target", got=sorted(trained - targets))


@law(
    "PCK-010",
    needs={Op.PACK_DOCUMENTS, Op.COLLATE},
    harm="packed and unpacked runs optimise different objectives",
    sources=("P-MASK", "P-ALIGN", "P-EQUIV"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_batches_train_every_target_once(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """From documents to batches, every target is trained on exactly once, after the token before it."""
    _trains_every_target_once(implementation, documents, spec)


@law(
    "PCK-010",
    facet="documents padded with EOS",
    needs={Op.PACK_DOCUMENTS, Op.COLLATE},
    harm="the model learns to repeat EOS, or never to stop",
    sources=("P-MASK", "P-VALUE", "S1", "NM-02", "MB-38"),
    activity=NEEDS_PADDING,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_batches_of_padded_documents_train_every_target_once(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Where padding equals EOS, every target is trained on exactly once, and padding never."""
    _trains_every_target_once(implementation, documents, spec)


_oddly_padded_documents, _odd_padding_spec = parted(packings(kind=Kind(pad_is_eos=False), multiple_of=multiples))


@law(
    "PCK-010",
    facet="documents padded with another id",
    needs={Op.PACK_DOCUMENTS, Op.COLLATE},
    harm="the model trains on padding",
    sources=("P-MASK", "P-VALUE", "S20"),
    activity=NEEDS_PADDING,
)
@given(documents=_oddly_padded_documents, spec=_odd_padding_spec)
def test_batches_never_train_on_padding_that_is_not_eos(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Where padding is not EOS, every target is trained on exactly once, and padding never."""
    _trains_every_target_once(implementation, documents, spec)


@law(
    "PCK-010",
    facet="EOS in the middle",
    needs={Op.PACK_DOCUMENTS, Op.COLLATE},
    harm="the first token of every later turn silently loses its loss",
    sources=("P-MASK", "P-VALUE", "MB-04", "S21"),
    activity=EOS_INSIDE,
)
@given(documents=_eos_documents, spec=_eos_spec)
def test_batches_train_the_token_after_eos(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Where EOS separates turns, every target is trained on exactly once, those after EOS included."""
    _trains_every_target_once(implementation, documents, spec)


# Randomness ----------------------------------------------------------------------------------------------------------


@law(
    "PCK-011",
    facet="ambient random state",
    needs={Op.PACK_DOCUMENTS},
    harm="two hosts pack the same data differently, and a run cannot be repeated",
    sources=("P-DET", "MB-05", "S8"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_packs_depend_on_nothing_but_the_arguments(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Equal documents and settings give equal packs, whatever random numbers the process drew before."""
    with ambient_random(1):
        first = implementation.pack_documents(documents, spec)
    with ambient_random(2):
        second = implementation.pack_documents(documents, spec)
    same(_stored(second.rows), _stored(first.rows), "the same seed gives the same packs")


@law(
    "PCK-011",
    facet="random state kept",
    needs={Op.PACK_DOCUMENTS},
    harm="packing changes what the rest of the program draws, such as dropout and data order",
    sources=("P-DET", "MB-05", "S8"),
)
@given(documents=_documents, spec=_spec)
def test_packing_leaves_the_random_state_alone(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The global random state is the same after the call as before."""
    with ambient_random(3):
        before = random_state()
        implementation.pack_documents(documents, spec)
        holds(random_state() == before, "the global random state is as it was")


# Files ---------------------------------------------------------------------------------------------------------------


@law(
    "PCK-020",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="documents are trained on twice, cut, or never",
    sources=("P-PERM", "P-ROUNDTRIP"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_prepared_rows_keep_every_document_once(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The rows on disk hold the documents, each whole and exactly once, and fit the capacity."""
    with TemporaryDirectory() as folder:
        rows = implementation.read_rows(implementation.prepare(documents, spec, Path(folder)).rows)
    _keeps_every_document(documents, rows, spec)
    _fits_the_capacity(rows, spec)


@law(
    "PCK-021",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="static boundary arrays are too short, or the number of steps is planned wrongly",
    sources=("P-STAT", "P-SHAPE", "bridge-packing 2.9"),
    activity=SEVERAL_PACKS,
)
@given(documents=_documents, spec=_spec)
def test_prepared_metadata_describes_the_rows(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The metadata file of a first preparation has one entry, and it describes the rows on disk."""
    with TemporaryDirectory() as folder:
        files = implementation.prepare(documents, spec, Path(folder))
        rows = implementation.read_rows(files.rows)
    holds(len(rows) > 0, "there is a row")
    same(files.metadata, (metadata_of(bins_of(rows), spec.capacity),), "one entry describes the rows")


@law(
    "PCK-022",
    facet="prepared twice",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="metadata grow with every run, and stale entries widen the boundary arrays",
    sources=("P-DET", "S16", "MB-06"),
)
@given(documents=_documents, spec=_spec)
def test_preparing_again_changes_nothing(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """A second, identical preparation in the same folder leaves the same rows and the same metadata."""
    with TemporaryDirectory() as folder:
        first = _prepared(implementation, documents, spec, Path(folder))
        first_rows = implementation.read_rows(first.rows)
        second = _prepared(implementation, documents, spec, Path(folder))
        second_rows = implementation.read_rows(second.rows)
    same(second.rows.name, first.rows.name, "the rows are where the first preparation put them")
    same(second.metadata, first.metadata, "the metadata are as after the first preparation")
    same(_stored(second_rows), _stored(first_rows), "the rows are as after the first preparation")


@law(
    "PCK-022",
    facet="other documents before",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="a run trains on the packs of an earlier configuration",
    sources=("P-DET", "NM-07", "S25"),
)
@given(documents=_documents, spec=_spec)
def test_preparing_replaces_other_documents(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """In a folder that holds other packs, the rows are those of the documents that were given last."""
    others = tuple(replace(document, tokens=document.tokens + 100_000) for document in documents)
    others_end_in_eos = tuple(replace(other, tokens=np.append(other.tokens[:-1], spec.eos_id)) for other in others)
    with TemporaryDirectory() as folder:
        implementation.prepare(others_end_in_eos, spec, Path(folder))
        rows = implementation.read_rows(implementation.prepare(documents, spec, Path(folder)).rows)
    _keeps_every_document(documents, rows, spec)


@law(
    "PCK-023",
    facet="ambient random state",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="two hosts prepare different files for one configuration",
    sources=("P-DET", "MB-05", "S8"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_prepared_rows_depend_on_nothing_but_the_arguments(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Equal documents and settings give equal files, whatever random numbers the process drew before."""
    made: list[object] = []
    for ambient in (1, 2):
        with TemporaryDirectory() as folder, ambient_random(ambient):
            made.append(_stored(implementation.read_rows(implementation.prepare(documents, spec, Path(folder)).rows)))
    same(made[1], made[0], "the same seed gives the same rows")


@law(
    "PCK-024",
    facet="no document",
    needs={Op.PREPARE},
    harm="an empty split ends the preparation with a ZeroDivisionError",
    sources=("P-TOTAL", "S36"),
)
@given(spec=_spec)
def test_preparing_no_document_is_refused(implementation: Implementation, spec: PackSpec) -> None:
    """An empty data set is refused with an error that says so."""
    with TemporaryDirectory() as folder:
        refuses(lambda: implementation.prepare((), spec, Path(folder)), "an empty data set is refused")


def _keeps_every_document(documents: Sequence[Document], rows: Sequence[PackedRow], spec: PackSpec) -> None:
    for document, segment in matched(documents, rows):
        whole = tokens_of(document)
        same(segment.tokens[: len(whole)], whole, "every document is there whole, once")
        padding = segment.tokens[len(whole) :]
        holds(set(padding) <= {spec.pad_id}, "nothing but padding follows a document", got=segment.tokens)
        holds(spec.pad_multiple not in (1, None) or not padding, "no padding is added unasked", got=segment.tokens)


def _trains_what_documents_want(documents: Sequence[Document], rows: Sequence[PackedRow]) -> None:
    for document, segment in matched(documents, rows):
        wanted = trainable(document)[1:].tolist()
        same(list(segment.trained), wanted, "every document is trained on exactly where it says")


def _fits_the_capacity(rows: Sequence[PackedRow], spec: PackSpec) -> None:
    widest = max((load(row) for row in rows), default=0)
    holds(widest <= spec.capacity, f"no row fills more than {spec.capacity} slots", got=widest)


def _pads_to_multiples(rows: Sequence[PackedRow], spec: PackSpec) -> None:
    lengths = [length for lengths_of_row in bins_of(rows) for length in lengths_of_row]
    aligned = [length % (spec.pad_multiple or 1) == 0 for length in lengths]
    holds(all(aligned), f"every runtime length is a multiple of {spec.pad_multiple}", got=lengths)


def _treats_overlong(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    packed = _packed_or_refused(implementation, documents, spec)
    if packed is None:
        return
    _fits_the_capacity(packed.rows, spec)
    limit = min(spec.max_length, spec.capacity)
    stored = [segment.tokens for segment in segments_in(packed.rows)]
    for document in documents:
        whole = tokens_of(document)
        if runtime(document) <= limit:
            holds(stored.count(whole) == 1, "a document that fits is there whole, once", got=stored, expected=whole)
            stored.remove(whole)
    remains = [tokens_of(document) for document in documents if runtime(document) > limit]
    for piece in stored:
        holds(
            any(_is_part(piece, whole) for whole in remains), "the rest is a part of an over-long document", got=piece
        )
    holds(len(stored) <= len(remains), "an over-long document becomes one segment at most", got=stored)


def _is_part(piece: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether ``piece`` is what some way of truncating leaves of ``whole``: tokens of it in their order."""
    rest = iter(whole)
    return all(token in rest for token in piece)


def _has_a_true_ledger(documents: Documents, packed: PackedDataset) -> None:
    if packed.ledger is None:
        return
    same([entry.document for entry in packed.ledger], list(range(len(documents))), "each document has an entry")
    for document, entry in zip(documents, packed.ledger, strict=True):
        if entry.fate == Fate.DROPPED or entry.row is None or entry.segment is None:
            same((entry.row, entry.segment), (None, None), "a dropped document is in no row")
            continue
        found = _segment_at(packed, entry.row, entry.segment)
        whole = tokens_of(document)
        holds(_is_part(found, whole), "the entry leads to the document's tokens", got=found, expected=whole)
        same(entry.fate == Fate.KEPT, len(found) == len(whole), "it says whether the document is whole")


def _segment_at(packed: PackedDataset, row: int, segment: int) -> tuple[int, ...]:
    segments = segments_of(packed.rows[row]) if row < len(packed.rows) else ()
    holds(segment < len(segments), "the entry leads to a segment", got=(row, segment))
    return segments[segment].tokens


def _packed_at_all(implementation: Implementation, documents: Documents, spec: PackSpec) -> PackedDataset:
    """The packs; where there are none, nothing is claimed of them (that there are some is the claim of PCK-002)."""
    try:
        return implementation.pack_documents(documents, spec)
    except NotSupported:
        raise
    except Exception as error:
        raise UnsatisfiedAssumption from error


def _packed_or_refused(implementation: Implementation, documents: Documents, spec: PackSpec) -> PackedDataset | None:
    """The packs, or None when the target refuses the documents on purpose."""
    try:
        return implementation.pack_documents(documents, spec)
    except NotSupported:
        raise
    except Exception as error:
        if is_deliberate(error):
            return None
        raise Broken("documents are packed, or refused on purpose", got=error) from error


def _trains_every_target_once(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    rows = implementation.pack_documents(documents, spec).rows
    collating = CollateSpec(spec.capacity, document_multiple=spec.pad_multiple, eos_id=spec.eos_id, seed=spec.seed)
    batches = implementation.collate(rows, range(len(rows)), collating)
    same(pairs_in(batches), trained_pairs(documents), "every target is trained on once, after the token before it")


def _prepared(implementation: Implementation, documents: Documents, spec: PackSpec, folder: Path) -> PreparedFiles:
    """One preparation in a process that has drawn the same random numbers each time."""
    with ambient_random(1):
        return implementation.prepare(documents, spec, folder)


def _stored(rows: Sequence[PackedRow]) -> list[tuple[list[int], list[bool], list[int]]]:
    return [(row.tokens.tolist(), [bool(w) for w in row.loss_mask], row.starts.tolist()) for row in rows]
