"""Offline packing in memory: what is trained on."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given

from properties.activities import EOS_INSIDE, NEEDS_PADDING, OVERLONG, SEVERAL
from properties.claims import holds, same
from properties.law import law
from properties.readings import (
    matched,
    packed_at_all,
    pairs_in,
    segments_in,
    trainable,
    trained_pairs,
)
from properties.strategies.documents import Answers, Kind, Run, Tokens, packings
from properties.strategies.lengths import multiples, parted
from reference_impl.batches import CollateSpec
from reference_impl.documents import Document, PackedRow, PackSpec
from reference_impl.interface import Implementation, Op

Documents = tuple[Document, ...]

_documents, _spec = parted(packings())
_padded_documents, _padding_spec = parted(packings(multiple_of=multiples))
_eos_documents, _eos_spec = parted(packings(kind=Kind(Tokens.EOS_INSIDE)))
_long_documents, _short_spec = parted(packings(Run.OVER_LIMIT))
_masked_documents, _masked_spec = parted(packings(kind=Kind(answers=Answers.MASK)))
_padded_masked_documents, _padding_masked_spec = parted(
    packings(kind=Kind(answers=Answers.MASK), multiple_of=multiples)
)
_oddly_padded_documents, _odd_padding_spec = parted(packings(kind=Kind(pad_is_eos=False), multiple_of=multiples))


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
    packed = packed_at_all(implementation, documents, spec)
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


def _trains_what_documents_want(documents: Sequence[Document], rows: Sequence[PackedRow]) -> None:
    for document, segment in matched(documents, rows):
        wanted = trainable(document)[1:].tolist()
        same(list(segment.trained), wanted, "every document is trained on exactly where it says")


def _trains_every_target_once(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    rows = implementation.pack_documents(documents, spec).rows
    collating = CollateSpec(spec.capacity, document_multiple=spec.pad_multiple, eos_id=spec.eos_id, seed=spec.seed)
    batches = implementation.collate(rows, range(len(rows)), collating)
    same(pairs_in(batches), trained_pairs(documents), "every target is trained on once, after the token before it")
