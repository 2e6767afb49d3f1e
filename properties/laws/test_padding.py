"""Padding and truncation of one document."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import law
from properties.readings import ceil_to, runtime, trainable
from properties.strategies.documents import Answers, Fit, Kind, Tokens, paddings
from properties.strategies.lengths import multiples, parted3
from reference_impl.documents import Document
from reference_impl.interface import Implementation, Op

PAD_ID = 0

_document, _limit, _multiple = parted3(paddings())
_aligned, _limit_of_aligned, _multiple_of_aligned = parted3(paddings(Fit.ALIGNED))
_fitting, _limit_of_fitting, _multiple_of_fitting = parted3(paddings(Fit.AT_LIMIT))
_near, _limit_of_near, _multiple_of_near = parted3(paddings(Fit.NEAR_LIMIT))
_overlong, _limit_of_overlong, _multiple_of_overlong = parted3(paddings(Fit.OVERLONG))

_own_mask = Kind(answers=Answers.MASK)
_masked, _limit_of_masked, _multiple_of_masked = parted3(paddings(Fit.BETWEEN, _own_mask))
_long_masked, _limit_of_long_masked, _multiple_of_long_masked = parted3(paddings(Fit.OVERLONG, _own_mask))
_prompt_only, _limit_of_prompt, _multiple_of_prompt = parted3(paddings(Fit.OVERLONG, Kind(answers=Answers.NOTHING)))
_odd, _limit_of_odd, _multiple_of_odd = parted3(paddings(kind=Kind(Tokens.PAD_TAIL, pad_is_eos=False)))


@law(
    "PAD-001",
    needs={Op.PAD_DOCUMENT},
    harm="context parallelism crashes, or cuts documents at different places on different ranks",
    sources=("P-PADDED", "MB-08", "bridge-packing 2.8"),
)
@given(document=_document, max_length=_limit, multiple=_multiple)
def test_the_runtime_length_becomes_the_next_multiple(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A runtime length between two multiples becomes the next one."""
    padded = implementation.pad_document(document, max_length, multiple, PAD_ID)
    same(
        runtime(padded), ceil_to(runtime(document), multiple), f"the runtime length is the next multiple of {multiple}"
    )


@law(
    "PAD-001",
    facet="already aligned",
    needs={Op.PAD_DOCUMENT},
    harm="documents carry a whole multiple of padding for nothing",
    sources=("P-PADDED", "MB-08", "S11"),
)
@given(document=_aligned, max_length=_limit_of_aligned, multiple=_multiple_of_aligned)
def test_an_aligned_document_is_left_alone(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A runtime length that is a multiple already stays as it is."""
    padded = implementation.pad_document(document, max_length, multiple, PAD_ID)
    same(padded.tokens, document.tokens, "an aligned document has the tokens it had")


@law(
    "PAD-001",
    facet="exactly at the limit",
    needs={Op.PAD_DOCUMENT},
    harm="the longest documents lose their last token, which is EOS",
    sources=("P-PERM", "MB-08", "S12"),
)
@given(document=_fitting, max_length=_limit_of_fitting, multiple=_multiple_of_fitting)
def test_a_document_that_fills_the_limit_is_left_alone(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A runtime length that is the limit and a multiple stays as it is."""
    padded = implementation.pad_document(document, max_length, multiple, PAD_ID)
    same(padded.tokens, document.tokens, "a document that just fits has the tokens it had")


@law(
    "PAD-001",
    facet="limit that is no multiple",
    needs={Op.PAD_DOCUMENT},
    harm="context parallelism crashes on the longest documents",
    sources=("P-PADDED", "MB-08", "S10"),
)
@given(document=_near, max_length=_limit_of_near, multiple=_multiple_of_near)
def test_a_document_near_an_odd_limit_is_cut_to_the_last_multiple(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """Where the next multiple exceeds the limit, the document is cut to the last one within it."""
    padded = implementation.pad_document(document, max_length, multiple, PAD_ID)
    same(
        runtime(padded), max_length // multiple * multiple, "the runtime length is the last multiple within the limit"
    )
    same(padded.tokens, document.tokens[: len(padded.tokens)], "the tokens are the first ones of the document")


@law(
    "PAD-001",
    facet="over-long document",
    needs={Op.PAD_DOCUMENT},
    harm="context parallelism crashes on truncated documents",
    sources=("P-PADDED", "MB-08", "S12", "ML-02"),
)
@given(document=_overlong, max_length=_limit_of_overlong, multiple=_multiple_of_overlong)
def test_an_overlong_document_is_cut_to_the_last_multiple(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A document beyond the limit is cut to the last multiple within it."""
    padded = implementation.pad_document(document, max_length, multiple, PAD_ID)
    same(
        runtime(padded), max_length // multiple * multiple, "the runtime length is the last multiple within the limit"
    )
    same(padded.tokens, document.tokens[: len(padded.tokens)], "the tokens are the first ones of the document")


@law(
    "PAD-001",
    facet="multiple of one",
    needs={Op.PAD_DOCUMENT},
    harm="documents are padded where no padding was asked for",
    sources=("P-PADDED", "MB-16"),
)
@given(document=_document, max_length=_limit)
def test_a_multiple_of_one_leaves_documents_alone(
    implementation: Implementation, document: Document, max_length: int
) -> None:
    """With a multiple of 1 a document that fits stays as it is."""
    padded = implementation.pad_document(document, max_length, 1, PAD_ID)
    same(padded.tokens, document.tokens, "the document has the tokens it had")


@law(
    "PAD-001",
    facet="multiple None",
    needs={Op.PAD_DOCUMENT},
    harm="an accepted setting ends the preparation with a TypeError",
    sources=("P-TOTAL", "S7"),
)
@given(document=_document, max_length=_limit)
def test_no_multiple_leaves_documents_alone(
    implementation: Implementation, document: Document, max_length: int
) -> None:
    """Without a multiple a document that fits stays as it is."""
    padded = implementation.pad_document(document, max_length, None, PAD_ID)
    same(padded.tokens, document.tokens, "the document has the tokens it had")


@law(
    "PAD-002",
    needs={Op.PAD_DOCUMENT},
    harm="tokens are lost or overwritten by padding",
    sources=("P-PERM", "P-VALUE"),
)
@given(document=_document, max_length=_limit, multiple=_multiple, pad_id=st.sampled_from((0, 2, 7)))
def test_padding_follows_the_tokens_of_the_document(
    implementation: Implementation, document: Document, max_length: int, multiple: int, pad_id: int
) -> None:
    """A padded document holds its own tokens first, then the pad id only."""
    _is_document_then_padding(implementation.pad_document(document, max_length, multiple, pad_id), document, pad_id)


@law(
    "PAD-002",
    facet="content equals the pad id",
    needs={Op.PAD_DOCUMENT},
    harm="tokens that look like padding are lost",
    sources=("P-VALUE", "MB-17", "S33"),
)
@given(document=_odd, max_length=_limit_of_odd, multiple=_multiple_of_odd)
def test_content_that_equals_the_pad_id_is_kept(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """Tokens that equal the pad id count like any others."""
    pad_id = int(document.tokens[max(0, len(document.tokens) - 2)])
    padded = implementation.pad_document(document, max_length, multiple, pad_id)
    same(
        runtime(padded), ceil_to(runtime(document), multiple), f"the runtime length is the next multiple of {multiple}"
    )
    _is_document_then_padding(padded, document, pad_id)


@law(
    "PAD-003",
    facet="own loss mask",
    needs={Op.PAD_DOCUMENT},
    harm="the masks of all later documents of the row slide over foreign tokens",
    sources=("P-MASK", "MB-25", "S9", "NM-02"),
)
@given(document=_masked, max_length=_limit_of_masked, multiple=_multiple_of_masked)
def test_the_loss_mask_is_padded_with_the_tokens(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A padded document has a mask as long as its tokens: its own first, then nothing to train on."""
    padded = implementation.pad_document(document, max_length, multiple, PAD_ID)
    mask = trainable(padded)
    same(len(mask), len(padded.tokens), "the mask is as long as the tokens")
    real = len(document.tokens)
    same(mask[:real], trainable(document), "the document's own targets are trained on as before")
    holds(not mask[real:].any(), "padding is not trained on", got=mask)


@law(
    "PAD-003",
    facet="over-long document with own loss mask",
    needs={Op.PAD_DOCUMENT},
    harm="the masks of all later documents of the row slide over foreign tokens",
    sources=("P-MASK", "MB-25", "MB-34", "S12"),
)
@given(document=_long_masked, max_length=_limit_of_long_masked, multiple=_multiple_of_long_masked)
def test_the_loss_mask_is_cut_with_the_tokens(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A truncated document has the first entries of its mask, as many as it has tokens."""
    padded = implementation.pad_document(document, max_length, multiple, PAD_ID)
    same(trainable(padded), trainable(document)[: len(padded.tokens)], "the mask is cut where the tokens are cut")


@law(
    "PAD-003",
    facet="over-long document without a target",
    needs={Op.PAD_DOCUMENT},
    harm="the model trains on the prompts of truncated documents",
    sources=("P-MASK", "MB-34"),
)
@given(document=_prompt_only, max_length=_limit_of_prompt, multiple=_multiple_of_prompt)
def test_truncation_makes_no_targets(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A truncated document without a target still has none."""
    mask = trainable(implementation.pad_document(document, max_length, multiple, PAD_ID))
    holds(not mask.any(), "nothing is trained on", got=mask)


@law(
    "PAD-004",
    facet="no multiple fits",
    needs={Op.PAD_DOCUMENT},
    harm="documents longer than allowed reach the kernels, or empty ones do",
    sources=("P-CFG", "S10", "bridge-packing 2.8"),
)
@given(document=_document, multiple=multiples, below=st.integers(1, 11))
def test_a_limit_below_the_multiple_is_refused(
    implementation: Implementation, document: Document, multiple: int, below: int
) -> None:
    """A limit that holds no positive multiple is refused with an error that says so."""
    limit = max(0, multiple - below)
    refuses(
        lambda: implementation.pad_document(document, limit, multiple, PAD_ID),
        f"a limit of {limit} is refused for a multiple of {multiple}",
    )


@law(
    "PAD-004",
    facet="multiple below one",
    needs={Op.PAD_DOCUMENT},
    harm="a mistyped multiple turns padding off without a word",
    sources=("P-CFG", "bridge-packing 2.8"),
)
@given(document=_document, max_length=_limit, multiple=st.integers(-2, 0))
def test_a_multiple_below_one_is_refused(
    implementation: Implementation, document: Document, max_length: int, multiple: int
) -> None:
    """A multiple below 1 is refused with an error that says so."""
    refuses(
        lambda: implementation.pad_document(document, max_length, multiple, PAD_ID),
        f"a multiple of {multiple} is refused",
    )


def _is_document_then_padding(padded: Document, document: Document, pad_id: int) -> None:
    real = len(document.tokens)
    same(padded.tokens[:real], document.tokens, "the document's tokens come first")
    padding = padded.tokens[real:]
    same(padding, np.full(len(padding), pad_id), "padding follows, and it is the pad id")
