"""The strategies of the offline half draw what goes wrong, and only what they promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from properties.readings import bins_of, ceil_to, lengths_of, load, runtime, segments_of, stream_of
from properties.strategies.documents import (
    IDENTITY,
    Answers,
    Fit,
    Kind,
    Run,
    Tokens,
    fillings,
    packings,
    paddings,
)
from properties.strategies.lengths import (
    awkward,
    counts_and_capacity,
    graded_lengths_and_capacity,
    lengths_and_capacity,
    multiples,
    overlong_lengths_and_capacity,
    parted,
)
from properties.strategies.rows import Inside, Padded, RowKind, Width, collations, stored_rows
from reference_impl.batches import CollateSpec
from reference_impl.documents import Bins, Document, IntArray, PackedRow, PackSpec

SEARCH = settings(max_examples=2_000, derandomize=True, database=None, deadline=None)
Lengths = tuple[IntArray, int]
Packing = tuple[tuple[Document, ...], PackSpec]


def _draws(strategy: st.SearchStrategy[object], kind: Callable[..., bool]) -> None:
    find(strategy, lambda drawn: kind(*drawn), settings=SEARCH)


# Lengths -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(lambda lengths, capacity: lengths.sum() == capacity and len(lengths) > 2, id="fills a bin"),
        pytest.param(lambda lengths, capacity: lengths.sum() == capacity + 1 and len(lengths) > 2, id="one slot over"),
        pytest.param(lambda lengths, _: len(lengths) > 3 and len(set(lengths)) == 1, id="all equal"),
        pytest.param(lambda lengths, capacity: capacity in lengths and len(lengths) > 1, id="at the capacity"),
        pytest.param(lambda lengths, capacity: (2 * lengths == capacity).sum() == 2, id="two halves"),
        pytest.param(lambda lengths, _: {31, 33} & set(lengths), id="beside a power of two"),
    ],
)
def test_lengths_go_where_packers_go_wrong(kind: Callable[..., bool]) -> None:
    _draws(lengths_and_capacity(), kind)


def test_awkward_lengths_stay_within_their_limits() -> None:
    assert awkward(10, 2) == (2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert {31, 32, 33, 63, 64} <= set(awkward(64))


@given(drawn=lengths_and_capacity(smallest=0, fewest=2))
def test_lengths_fit_the_capacity(drawn: Lengths) -> None:
    lengths, capacity = drawn
    assert len(lengths) >= 2
    assert lengths.dtype == np.int64
    assert 0 <= lengths.min() <= lengths.max() <= capacity


@given(drawn=graded_lengths_and_capacity())
def test_graded_lengths_fit_the_capacity(drawn: Lengths) -> None:
    lengths, capacity = drawn
    assert len(lengths) >= 5
    assert 1 <= lengths.min() <= lengths.max() < capacity


@given(drawn=overlong_lengths_and_capacity())
def test_one_overlong_length_exceeds_the_capacity(drawn: Lengths) -> None:
    lengths, capacity = drawn
    assert (lengths > capacity).sum() == 1


@given(drawn=counts_and_capacity())
def test_counts_hold_documents_that_fit(drawn: Lengths) -> None:
    counts, capacity = drawn
    assert counts.sum() > 0
    assert np.flatnonzero(counts).max() <= capacity


_lengths, _capacity = parted(lengths_and_capacity())


@given(lengths=_lengths, capacity=_capacity)
def test_parts_of_a_draw_belong_together(lengths: IntArray, capacity: int) -> None:
    assert lengths.max() <= capacity


# Documents -----------------------------------------------------------------------------------------------------------


@given(drawn=packings())
def test_tokens_name_their_document(drawn: Packing) -> None:
    documents, spec = drawn
    for index, document in enumerate(documents):
        offsets = np.arange(len(document.tokens) - 1)
        assert document.tokens[:-1].tolist() == ((index + 1) * IDENTITY + offsets).tolist()
        assert document.tokens[-1] == spec.eos_id
        assert document.answer_start is not None
        assert 1 <= document.answer_start < len(document.tokens)


@given(drawn=packings(multiple_of=multiples))
def test_plain_documents_fit_and_need_padding(drawn: Packing) -> None:
    documents, spec = drawn
    multiple = spec.pad_multiple or 1
    for length in lengths_of(documents).tolist():
        assert length % multiple
        assert ceil_to(length, multiple) <= spec.capacity < spec.max_length


@pytest.mark.parametrize(
    ("run", "multiple_of", "holds"),
    [
        (Run.AT_LIMIT, multiples, lambda length, spec: length == spec.capacity == spec.max_length),
        (Run.OVER_LIMIT, multiples, lambda length, spec: spec.max_length < length <= spec.capacity),
        (
            Run.NEAR_LIMIT,
            multiples,
            lambda length, spec: length <= spec.max_length < ceil_to(length, spec.pad_multiple),
        ),
        (Run.ALIGNED, multiples, lambda length, spec: length > 0 and length % spec.pad_multiple == 0),
        (Run.EOS_ALONE, multiples, lambda length, _: length == 0),
        (Run.EMPTY, multiples, lambda length, _: length == -1),
    ],
)
def test_a_special_run_has_one_special_document(
    run: Run, multiple_of: st.SearchStrategy[int], holds: Callable[[int, PackSpec], bool]
) -> None:
    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(drawn=packings(run, multiple_of=multiple_of))
    def check(drawn: Packing) -> None:
        documents, spec = drawn
        assert sum(holds(runtime(document), spec) for document in documents) == 1

    check()


@given(drawn=packings(Run.OVER_CAPACITY, multiple_of=multiples))
def test_one_document_or_two_exceed_the_capacity(drawn: Packing) -> None:
    documents, spec = drawn
    beyond = [length for length in lengths_of(documents).tolist() if length > spec.capacity]
    assert 1 <= len(beyond) <= 2
    assert max(beyond) <= spec.max_length


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        (Kind(Tokens.EOS_INSIDE), lambda document, spec: spec.eos_id in document.tokens[:-2]),
        (Kind(Tokens.EOS_TAIL), lambda document, spec: (document.tokens[-3:] == spec.eos_id).sum() == 3),
        (Kind(Tokens.NO_EOS), lambda document, spec: spec.eos_id not in document.tokens),
        (Kind(Tokens.PAD_INSIDE, pad_is_eos=False), lambda document, spec: spec.pad_id in document.tokens[1:-2]),
        (Kind(Tokens.PAD_TAIL, pad_is_eos=False), lambda document, spec: document.tokens[-2] == spec.pad_id),
        (Kind(pad_is_eos=False), lambda _, spec: spec.pad_id != spec.eos_id),
        (Kind(answers=Answers.START_AT_0), lambda document, _: document.answer_start == 0),
        (Kind(answers=Answers.START_AT_END), lambda document, _: document.answer_start == len(document.tokens)),
        (Kind(answers=Answers.MASK), lambda document, _: document.loss_mask.all()),
        (Kind(answers=Answers.MASK), lambda document, _: not document.loss_mask.any()),
        (
            Kind(answers=Answers.MASK),
            lambda document, _: document.loss_mask[1] and document.loss_mask.sum() == 1,
        ),
        (Kind(answers=Answers.NOTHING), lambda document, _: not document.loss_mask.any()),
    ],
)
def test_documents_of_each_kind_are_drawn(kind: Kind, holds: Callable[..., bool]) -> None:
    _draws(
        packings(kind=kind),
        lambda documents, spec: all(len(document.tokens) > 3 and holds(document, spec) for document in documents),
    )


def test_masks_and_answer_starts_are_mixed() -> None:
    _draws(
        packings(kind=Kind(answers=Answers.MIXED)),
        lambda documents, _: len({document.loss_mask is None for document in documents}) == 2,
    )


@pytest.mark.parametrize(
    ("fit", "holds"),
    [
        (Fit.BETWEEN, lambda length, limit, multiple: length % multiple and ceil_to(length, multiple) <= limit),
        (Fit.ALIGNED, lambda length, limit, multiple: length % multiple == 0 and length < limit),
        (Fit.AT_LIMIT, lambda length, limit, multiple: length == limit and length % multiple == 0),
        (Fit.NEAR_LIMIT, lambda length, limit, multiple: limit // multiple * multiple < length <= limit),
        (Fit.OVERLONG, lambda length, limit, multiple: length > limit >= multiple),
    ],
)
def test_documents_to_pad_relate_to_their_limit(fit: Fit, holds: Callable[[int, int, int], bool]) -> None:
    @settings(max_examples=200, derandomize=True, database=None, deadline=None)
    @given(drawn=paddings(fit))
    def check(drawn: tuple[Document, int, int]) -> None:
        document, limit, multiple = drawn
        assert holds(runtime(document), limit, multiple)

    check()


@given(drawn=fillings(smallest=0))
def test_bins_hold_the_lengths_of_the_documents(drawn: tuple[tuple[Document, ...], Bins, int]) -> None:
    documents, bins, capacity = drawn
    assert sorted(length for lengths in bins for length in lengths) == sorted(lengths_of(documents).tolist())
    assert all(lengths and sum(lengths) <= capacity for lengths in bins)


# Rows ----------------------------------------------------------------------------------------------------------------

Collation = tuple[tuple[PackedRow, ...], CollateSpec]


@given(drawn=collations(RowKind(padded=Padded.EOS, empty=True)))
def test_rows_are_well_formed(drawn: Collation) -> None:
    rows, spec = drawn
    for row in rows:
        assert len(row.loss_mask) == len(row.tokens)
        assert row.starts[0] == 0
        assert 1 <= load(row) <= spec.width
        assert all(length % (spec.document_multiple or 1) == 0 for length in stream_of(row).lengths)
        assert row.valid is not None
        assert (row.valid <= stream_of(row).lengths + 1).all()
        assert not (stream_of(row).weights & ~stream_of(row).real).any()


@pytest.mark.parametrize(
    ("strategy", "holds"),
    [
        (collations(), lambda rows, spec: len(rows) > 1 and load(rows[0]) == spec.width),
        (collations(), lambda rows, _: not any(row.loss_mask.any() for row in rows)),
        (collations(), lambda rows, _: all(all(part.trained) for row in rows for part in segments_of(row))),
        (collations(RowKind(Inside.EOS_INSIDE)), lambda rows, spec: spec.eos_id in stream_of(rows[0]).tokens),
        (collations(RowKind(Inside.EOS_TAIL)), lambda rows, spec: stream_of(rows[0]).tokens[-1] == spec.eos_id),
        (collations(RowKind(Inside.ONLY_EOS)), lambda rows, spec: (rows[0].tokens == spec.eos_id).all()),
        (collations(RowKind(padded=Padded.OTHER)), lambda rows, spec: rows[0].tokens[-1] != spec.eos_id),
        (collations(RowKind(empty=True)), lambda rows, _: 0 in stream_of(rows[0]).lengths),
        (collations(width=Width.MULTIPLE), lambda rows, spec: not spec.pad_to_width and load(rows[0]) < spec.width),
        (collations(RowKind(most_rows=4)), lambda rows, _: {len(row.starts) for row in rows} >= {1, 4}),
    ],
)
def test_rows_go_where_collation_goes_wrong(
    strategy: st.SearchStrategy[Collation], holds: Callable[..., bool]
) -> None:
    _draws(strategy, holds)


@given(drawn=collations(static=True))
def test_static_rows_come_with_true_metadata(drawn: Collation) -> None:
    rows, spec = drawn
    (entry,) = spec.metadata
    assert spec.static_boundaries
    assert spec.pad_to_width
    assert entry.max_samples_per_bin == max(len(lengths) for lengths in bins_of(rows))


@given(drawn=collations(RowKind(fewest_rows=2), mapped=True))
def test_mapped_rows_have_a_whole_epoch(drawn: Collation) -> None:
    rows, spec = drawn
    assert len(rows) >= 2
    assert spec.n_samples is not None
    assert spec.n_samples >= len(rows)


def test_stored_rows_have_large_token_ids() -> None:
    find(stored_rows(), lambda rows: any((row.tokens > 2**30).any() for row in rows), settings=SEARCH)
