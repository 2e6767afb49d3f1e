"""Documents in the places of bins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.activities import SEVERAL
from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.readings import ambient_random, bins_of, random_state, segment_of, segments_in, tokens_of
from properties.strategies.documents import IDENTITY, Answers, Kind, Tokens, fillings
from properties.strategies.lengths import parted3, seeds
from reference_impl.documents import Bins, BoolArray, Document, PackedRow
from reference_impl.interface import Implementation, Op

_documents, _bins, _capacity = parted3(fillings())
_wide_documents, _wide_bins, _ = parted3(fillings(smallest=2))
_tiny_documents, _tiny_bins, _tiny_capacity = parted3(fillings(smallest=0))


def _eos_inside(documents: tuple[Document, ...], **_: object) -> bool:
    return any(document.tokens[-1] in document.tokens[:-1] for document in documents)


def _pad_id_inside(documents: tuple[Document, ...], **_: object) -> bool:
    return any((document.tokens[1:-1] < IDENTITY).any() for document in documents)


def _masks_and_starts(documents: tuple[Document, ...], **_: object) -> bool:
    return len({document.loss_mask is None for document in documents}) > 1


def _a_single_token(documents: tuple[Document, ...], **_: object) -> bool:
    return min(len(document.tokens) for document in documents) == 1


EOS_INSIDE = Activity("EOS between other tokens", _eos_inside, 0.4)
PAD_ID_INSIDE = Activity("the pad id between other tokens", _pad_id_inside, 0.4)
MIXED = Activity("documents with a mask beside some with an answer start", _masks_and_starts, 0.2)
SINGLE_TOKEN = Activity("a document of a single token", _a_single_token, 0.3)
PAD_ID = 0


@law(
    "FIL-001",
    needs={Op.FILL},
    harm="documents are trained on twice, cut, or never",
    sources=("P-PERM",),
    activity=SEVERAL,
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_every_document_is_in_one_place(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """The segments of all rows are the documents, each whole and exactly once."""
    _keeps_every_document(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


@law(
    "FIL-001",
    facet="zero length",
    needs={Op.FILL},
    harm="documents of a single token are lost, or shift the borders of their neighbours",
    sources=("P-PERM", "P-TOTAL", "S44"),
    activity=SINGLE_TOKEN,
)
@given(documents=_tiny_documents, bins=_tiny_bins, capacity=_tiny_capacity, seed=seeds)
def test_every_document_of_a_single_token_is_in_one_place(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """Documents that fill no slot are stored like any others."""
    _keeps_every_document(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


_eos_documents, _eos_bins, _eos_capacity = parted3(fillings(Kind(Tokens.EOS_INSIDE)))


@law(
    "FIL-001",
    facet="EOS in the middle",
    needs={Op.FILL},
    harm="multi-turn documents are cut at the end of a turn",
    sources=("P-VALUE", "MB-14"),
    activity=EOS_INSIDE,
)
@given(documents=_eos_documents, bins=_eos_bins, capacity=_eos_capacity, seed=seeds)
def test_every_document_with_eos_inside_is_in_one_place(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """EOS between the tokens of a document does not end it."""
    _keeps_every_document(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


_pad_documents, _pad_bins, _pad_capacity = parted3(fillings(Kind(Tokens.PAD_TAIL, pad_is_eos=False)))


@law(
    "FIL-001",
    facet="content equals the pad id",
    needs={Op.FILL},
    harm="the end of a document is taken for padding and lost",
    sources=("P-VALUE", "MB-17", "S33"),
    activity=PAD_ID_INSIDE,
)
@given(documents=_pad_documents, bins=_pad_bins, capacity=_pad_capacity, seed=seeds)
def test_every_document_that_holds_the_pad_id_is_in_one_place(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """Tokens that equal the pad id are tokens like any others."""
    for pad_id in {token for document in documents for token in tokens_of(document)[1:-1] if token < IDENTITY}:
        _keeps_every_document(documents, implementation.fill(documents, bins, capacity, pad_id, seed))


@law(
    "FIL-002",
    needs={Op.FILL},
    harm="rows differ from the bins that were planned, and some exceed the capacity",
    sources=("P-CAP", "bridge-packing 2.6"),
    activity=SEVERAL,
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_rows_follow_the_bins(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """There is one row per bin, and its segments have the bin's lengths in the bin's order."""
    rows = implementation.fill(documents, bins, capacity, PAD_ID, seed)
    same(bins_of(rows), bins, "the segments of each row have the lengths of its bin, in order")


@law(
    "FIL-003",
    facet="answer start",
    needs={Op.FILL},
    harm="the model trains on prompts, or misses the first token of every answer",
    sources=("P-ALIGN", "P-MASK"),
    activity=SEVERAL,
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_answers_are_trained_on(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """A slot is trained on exactly when the token after it belongs to the answer of the same document."""
    _trains_what_documents_want(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


_all_answer_documents, _all_answer_bins, _all_answer_capacity = parted3(fillings(Kind(answers=Answers.START_AT_0)))
_no_answer_documents, _no_answer_bins, _no_answer_capacity = parted3(fillings(Kind(answers=Answers.START_AT_END)))
_mask_documents, _mask_bins, _mask_capacity = parted3(fillings(Kind(answers=Answers.MASK)))
_mixed_documents, _mixed_bins, _mixed_capacity = parted3(fillings(Kind(answers=Answers.MIXED)))


@law(
    "FIL-003",
    facet="answer from the first token",
    needs={Op.FILL},
    harm="documents without a prompt lose their first target, or their last",
    sources=("P-ALIGN", "P-TOTAL"),
    activity=SEVERAL,
)
@given(documents=_all_answer_documents, bins=_all_answer_bins, capacity=_all_answer_capacity, seed=seeds)
def test_documents_without_a_prompt_are_trained_on_whole(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """Where the answer starts at the first token, every slot is trained on."""
    _trains_what_documents_want(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


@law(
    "FIL-003",
    facet="no answer",
    needs={Op.FILL},
    harm="the model trains on prompts whose answer is missing",
    sources=("P-MASK", "MB-34"),
    activity=SEVERAL,
)
@given(documents=_no_answer_documents, bins=_no_answer_bins, capacity=_no_answer_capacity, seed=seeds)
def test_documents_without_an_answer_are_not_trained_on(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """Where the answer starts behind the last token, no slot is trained on."""
    _trains_what_documents_want(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


@law(
    "FIL-003",
    facet="own loss mask",
    needs={Op.FILL},
    harm="multi-turn training starts one token late and trains on the token after each answer",
    sources=("P-ALIGN", "P-EQUIV", "NM-03"),
    activity=SEVERAL,
)
@given(documents=_mask_documents, bins=_mask_bins, capacity=_mask_capacity, seed=seeds)
def test_loss_masks_move_to_the_slots_that_predict(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """A document's own mask marks targets; the slot before each marked token is trained on."""
    _trains_what_documents_want(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


@law(
    "FIL-003",
    facet="own loss masks beside answer starts",
    needs={Op.FILL},
    harm="one document without a mask changes how all others of its length are trained on",
    sources=("P-MASK", "bridge-packing 2.6"),
    activity=MIXED,
)
@given(documents=_mixed_documents, bins=_mixed_bins, capacity=_mixed_capacity, seed=seeds)
def test_each_document_is_trained_on_as_it_says_itself(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """Documents with a mask and documents with an answer start, side by side, are each trained on as they say."""
    _trains_what_documents_want(documents, implementation.fill(documents, bins, capacity, PAD_ID, seed))


@law(
    "FIL-004",
    needs={Op.FILL},
    harm="readers cut documents at wrong borders, and masks slide over tokens",
    sources=("P-BOUND", "MB-25", "bridge-packing 2.10"),
    activity=SEVERAL,
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_stored_rows_are_well_formed(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """Mask and tokens are equally long; starts begin at 0, ascend and leave every document a token."""
    for row in implementation.fill(documents, bins, capacity, PAD_ID, seed):
        same(len(row.loss_mask), len(row.tokens), "the mask is as long as the tokens")
        same(row.starts[:1], np.zeros(1), "the first document starts at 0")
        stored = np.diff(np.append(row.starts, len(row.tokens)))
        holds((stored >= 1).all(), "every document has a token", got=row.starts)


@law(
    "FIL-005",
    facet="ambient random state",
    needs={Op.FILL},
    harm="two hosts pack the same data differently, and a run cannot be repeated",
    sources=("P-DET", "MB-05", "S8"),
    activity=SEVERAL,
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_rows_depend_on_nothing_but_the_arguments(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """Equal arguments give equal rows, whatever random numbers the process drew before."""
    with ambient_random(1):
        first = implementation.fill(documents, bins, capacity, PAD_ID, seed)
    with ambient_random(2):
        second = implementation.fill(documents, bins, capacity, PAD_ID, seed)
    same([row.tokens.tolist() for row in second], [row.tokens.tolist() for row in first], "equal seeds, equal rows")


@law(
    "FIL-005",
    facet="random state kept",
    needs={Op.FILL},
    harm="packing changes what the rest of the program draws, such as dropout and data order",
    sources=("P-DET", "MB-05", "S8"),
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_filling_leaves_the_random_state_alone(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """The global random state is the same after the call as before."""
    with ambient_random(3):
        before = random_state()
        implementation.fill(documents, bins, capacity, PAD_ID, seed)
        holds(random_state() == before, "the global random state is as it was")


@law(
    "FIL-006",
    facet="document left over",
    needs={Op.FILL},
    harm="documents are lost without a word",
    sources=("P-PERM", "bridge-packing 2.6"),
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_a_document_without_a_place_is_refused(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """More documents than places are refused with an error that says so."""
    one_more = (*documents, replace(documents[0]))
    refuses(lambda: implementation.fill(one_more, bins, capacity, PAD_ID, seed), "a document left over is refused")


@law(
    "FIL-006",
    facet="document missing",
    needs={Op.FILL},
    harm="the preparation dies with an IndexError that names nothing",
    sources=("P-PERM", "bridge-packing 2.6"),
)
@given(documents=_documents, bins=_bins, capacity=_capacity, seed=seeds)
def test_a_place_without_a_document_is_refused(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, capacity: int, seed: int
) -> None:
    """More places than documents are refused with an error that says so."""
    refuses(lambda: implementation.fill(documents[1:], bins, capacity, PAD_ID, seed), "a place left over is refused")


@law(
    "FIL-006",
    facet="bin above the capacity",
    needs={Op.FILL},
    harm="a row is wider than the buffers, or the preparation dies with a bare KeyError",
    sources=("P-CAP", "MB-10", "S6"),
)
@given(documents=_wide_documents, bins=_wide_bins, seed=seeds)
def test_a_bin_above_the_capacity_is_refused(
    implementation: Implementation, documents: tuple[Document, ...], bins: Bins, seed: int
) -> None:
    """A bin that holds more than the capacity is refused with an error that says so."""
    too_small = max(sum(lengths) for lengths in bins) - 1
    refuses(
        lambda: implementation.fill(documents, bins, too_small, PAD_ID, seed),
        f"a bin is refused that exceeds a capacity of {too_small}",
    )


@law(
    "FIL-006",
    facet="mask shorter than its tokens",
    needs={Op.FILL},
    harm="the masks of all later documents of the row slide over foreign tokens",
    sources=("P-MASK", "MB-25", "S9"),
)
@given(documents=_mask_documents, bins=_mask_bins, capacity=_mask_capacity, missing=st.integers(1, 2), seed=seeds)
def test_a_mask_shorter_than_its_tokens_is_refused(
    implementation: Implementation,
    documents: tuple[Document, ...],
    bins: Bins,
    capacity: int,
    missing: int,
    seed: int,
) -> None:
    """A loss mask of another length than its tokens is refused with an error that says so."""
    short = tuple(replace(document, loss_mask=_without_last(document, missing)) for document in documents)
    refuses(lambda: implementation.fill(short, bins, capacity, PAD_ID, seed), "a short loss mask is refused")


def _without_last(document: Document, missing: int) -> BoolArray | None:
    return None if document.loss_mask is None else document.loss_mask[:-missing]


def _keeps_every_document(documents: tuple[Document, ...], rows: tuple[PackedRow, ...]) -> None:
    stored = [segment.tokens for segment in segments_in(rows)]
    same(stored, sorted(tokens_of(document) for document in documents), "every document is stored whole, once")


def _trains_what_documents_want(documents: tuple[Document, ...], rows: tuple[PackedRow, ...]) -> None:
    expected = sorted(segment_of(document) for document in documents)
    same(segments_in(rows), expected, "every document is trained on exactly where it says")
