"""Offline packing in memory: over-long documents, and none at all."""

from __future__ import annotations

from hypothesis import given

from properties.activities import OVERLONG
from properties.claims import holds, refuses
from properties.law import law
from properties.readings import (
    fits_the_capacity,
    is_part,
    keeps_every_document,
    packed_or_refused,
    pads_to_multiples,
    runtime,
    segments_in,
    tokens_of,
)
from properties.strategies.documents import Run, packings
from properties.strategies.lengths import multiples, parted
from reference_impl.documents import Document, Overlong, PackSpec
from reference_impl.interface import Implementation, Op

Documents = tuple[Document, ...]

_documents, _spec = parted(packings())
_long_documents, _short_spec = parted(packings(Run.OVER_LIMIT))
_huge_documents, _small_spec = parted(packings(Run.OVER_CAPACITY))
_long_padded_documents, _short_padding_spec = parted(packings(Run.OVER_LIMIT, multiple_of=multiples))
_near_documents, _near_spec = parted(packings(Run.NEAR_LIMIT, multiple_of=multiples))
_dropped_documents, _dropping_spec = parted(packings(Run.OVER_LIMIT, overlong=Overlong.DROP))
_refused_documents, _refusing_spec = parted(packings(Run.OVER_LIMIT, overlong=Overlong.REJECT))


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
    packed = packed_or_refused(implementation, documents, spec)
    if packed is not None:
        pads_to_multiples(packed.rows, spec)


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
    packed = packed_or_refused(implementation, documents, spec)
    if packed is not None:
        pads_to_multiples(packed.rows, spec)


@law(
    "PCK-003",
    facet="drop",
    needs={Op.PACK_DOCUMENTS},
    harm="fragments of documents are trained on although dropping was asked for",
    sources=("P-STAT", "AM-05"),
    activity=OVERLONG,
    policy=Overlong.DROP,
)
@given(documents=_dropped_documents, spec=_dropping_spec)
def test_dropping_leaves_no_fragment(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """With the policy to drop, exactly the documents that fit are there, whole."""
    fitting = tuple(document for document in documents if runtime(document) <= spec.max_length)
    packed = packed_or_refused(implementation, documents, spec)
    holds((packed is not None) == bool(fitting), "packing is refused exactly when no document fits")
    if packed is not None:
        keeps_every_document(fitting, packed.rows, spec)


@law(
    "PCK-003",
    facet="reject",
    needs={Op.PACK_DOCUMENTS},
    harm="data are cut although that was forbidden",
    sources=("P-CFG", "AM-05"),
    activity=OVERLONG,
    policy=Overlong.REJECT,
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
    policy=Overlong.DROP,
)
@given(documents=_dropped_documents, spec=_dropping_spec)
def test_packing_only_dropped_documents_is_refused(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """A data set of which every document is dropped is refused with an error that says so."""
    overlong = tuple(document for document in documents if runtime(document) > spec.max_length)
    refuses(lambda: implementation.pack_documents(overlong, spec), "a data set without a fitting document is refused")


def _treats_overlong(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    packed = packed_or_refused(implementation, documents, spec)
    if packed is None:
        return
    fits_the_capacity(packed.rows, spec)
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
            any(is_part(piece, whole) for whole in remains), "the rest is a part of an over-long document", got=piece
        )
    holds(len(stored) <= len(remains), "an over-long document becomes one segment at most", got=stored)
