"""Offline packing in memory: every document is kept."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from properties.activities import EOS_INSIDE, EOS_TAIL, NEEDS_PADDING, PAD_ID_INSIDE, SEVERAL
from properties.claims import same
from properties.law import law
from properties.readings import (
    ceil_to,
    keeps_every_document,
    matched,
    packed_or_refused,
    runtime,
    segments_in,
    tokens_of,
)
from properties.strategies.documents import Kind, Run, Tokens, packings
from properties.strategies.lengths import multiples, parted
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import Implementation, Op

Documents = tuple[Document, ...]

_documents, _spec = parted(packings())
_padded_documents, _padding_spec = parted(packings(multiple_of=multiples))
_aligned_documents, _aligned_spec = parted(packings(Run.ALIGNED, multiple_of=multiples))
_fitting_documents, _fitting_spec = parted(packings(Run.AT_LIMIT))
_eos_documents, _eos_spec = parted(packings(kind=Kind(Tokens.EOS_INSIDE)))
_tail_documents, _tail_spec = parted(packings(kind=Kind(Tokens.EOS_TAIL), multiple_of=multiples))
_open_documents, _open_spec = parted(packings(kind=Kind(Tokens.NO_EOS)))
_odd_documents, _odd_spec = parted(packings(kind=Kind(Tokens.PAD_INSIDE, pad_is_eos=False)))
_tiny_documents, _tiny_spec = parted(packings(Run.EOS_ALONE))
_empty_documents, _empty_spec = parted(packings(Run.EMPTY))


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    keeps_every_document(documents, implementation.pack_documents(documents, spec).rows, spec)


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
    packed = packed_or_refused(implementation, documents, spec)
    if packed is not None:
        stored = [segment.tokens for segment in segments_in(packed.rows) if segment.tokens]
        expected = sorted(tokens_of(document) for document in documents if len(document.tokens))
        same(stored, expected, "every document that has a token is there whole, once")
