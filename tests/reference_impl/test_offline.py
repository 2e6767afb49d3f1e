"""Offline packing: goldens of Megatron Bridge (sections 2.4-2.9 and 9) and right values of the bug corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reference_impl import offline, one_document
from reference_impl.documents import (
    Algorithm,
    Bins,
    Document,
    Fate,
    IntArray,
    LedgerEntry,
    Overlong,
    PackedRow,
    PackingMetadata,
    PackingStrategy,
    PackSpec,
)
from reference_impl.errors import PackingError
from reference_impl.parts import Part
from reference_impl.reference import ReferenceImplementation

REFERENCE = ReferenceImplementation()
GOLDEN_DOCUMENTS = (
    [100, 101, 150, 151, 0],
    [200, 201, 202, 250, 0],
    [300, 301, 350, 351, 352, 353, 0],
    [400, 450, 0],
)


def document(*tokens: int, answer_start: int = 0, valid: int | None = None) -> Document:
    return Document(np.array(tokens, dtype=np.int64), answer_start=answer_start, valid=valid)


def masked(tokens: list[int], mask: list[int]) -> Document:
    return Document(np.array(tokens), np.array(mask, dtype=np.bool_))


def of_runtime_length(length: int) -> Document:
    return document(*range(10, 11 + length))


# Padding


@pytest.mark.parametrize(
    ("stored", "multiple", "max_length", "expected"),
    [
        (5, 4, 16, 5),
        (4, 4, 16, 5),
        (10, 4, 10, 9),
        (9, 8, 64, 9),  # MB-08
        (17, 8, 64, 17),
        (20, 8, 20, 17),
        (17, 8, 16, 17),
        (20, 4, 16, 17),  # S12
        (1, 4, 16, 1),
        (6, None, 16, 6),
        (7, None, 16, 7),
        (7, 1, 3, 4),
    ],
)
def test_the_runtime_length_is_padded_or_cut_to_a_multiple(
    stored: int, multiple: int | None, max_length: int, expected: int
) -> None:
    padded = one_document.pad_document(of_runtime_length(stored - 1), max_length, multiple, pad_id=9)
    assert padded.tokens.size == expected
    assert padded.valid == min(stored, expected)


def test_padding_holds_the_pad_id_and_is_no_target() -> None:
    padded = one_document.pad_document(masked([5, 6, 7], [0, 1, 1]), 8, 4, pad_id=9)
    assert padded.tokens.tolist() == [5, 6, 7, 9, 9]
    assert padded.loss_mask is not None
    assert padded.loss_mask.tolist() == [False, True, True, False, False]


def test_the_short_form_of_a_mask_does_not_reach_into_padding() -> None:
    padded = one_document.pad_document(document(5, 6, 7, answer_start=1), 8, 4, pad_id=9)
    assert padded.loss_mask is not None
    assert padded.loss_mask.tolist() == [False, True, True, False, False]  # S1


def test_truncation_never_makes_a_token_trainable() -> None:
    padded = one_document.pad_document(masked([5, 6, 7, 8, 9, 0], [0, 0, 0, 0, 1, 1]), 3, None, pad_id=0)
    assert padded.loss_mask is not None
    assert padded.loss_mask.tolist() == [False] * 4  # MB-34


@pytest.mark.parametrize("source", [masked([5, 6, 7], [0, 1, 1]), document(5, 6, 7, answer_start=1)])
@pytest.mark.parametrize("multiple", [1, 4])
def test_a_padded_mask_is_of_truth_values(source: Document, multiple: int) -> None:
    padded = one_document.pad_document(source, 8, multiple, pad_id=9)
    assert padded.loss_mask is not None
    assert (padded.loss_mask.dtype, padded.tokens.dtype) == (np.bool_, np.int64)


def test_padding_twice_changes_nothing_more() -> None:
    once = one_document.pad_document(document(5, 6, 7), 8, 4, pad_id=9)
    twice = one_document.pad_document(once, 8, 4, pad_id=9)
    assert twice.tokens.tolist() == once.tokens.tolist()
    assert twice.valid == once.valid == 3


def test_a_document_without_a_token_becomes_padding_that_fills_no_slot() -> None:
    padded = one_document.pad_document(document(), 8, 4, pad_id=9)
    assert (padded.tokens.tolist(), padded.valid) == ([9], 0)


def test_a_document_that_says_nothing_of_loss_is_padded_all_the_same() -> None:
    assert one_document.pad_document(Document(np.array([5, 6])), 8, 4, pad_id=9).loss_mask is None


@pytest.mark.parametrize(("multiple", "max_length", "argument"), [(0, 8, "multiple"), (16, 8, "max_length")])
def test_a_multiple_that_cannot_be_met_is_refused(multiple: int, max_length: int, argument: str) -> None:
    with pytest.raises(PackingError) as raised:
        one_document.pad_document(document(5, 6), max_length, multiple, pad_id=0)
    assert raised.value.argument == argument


@pytest.mark.parametrize(
    ("bad", "argument"),
    [
        (masked([5, 6], [1]), "loss_mask"),
        (document(5, 6, answer_start=-1), "answer_start"),
        (document(5, 6, valid=3), "valid"),
        (document(5, 6, valid=-1), "valid"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(bad: Document, argument: str) -> None:
    with pytest.raises(PackingError) as raised:
        one_document.pad_document(bad, 8, 1, pad_id=0)
    assert raised.value.argument == argument


# Parts


def test_the_whole_of_a_document_is_the_document() -> None:
    source = document(5, 6, 7)
    assert Part(0, 0, 3).of(source) is source


@pytest.mark.parametrize(
    ("start", "end", "valid"), [(0, 3, 3), (0, 4, 4), (1, 3, 2), (2, 6, 2), (3, 5, 1), (4, 6, 0), (5, 8, 0), (0, 7, 4)]
)
def test_a_part_has_what_is_real_between_its_ends(start: int, end: int, valid: int) -> None:
    """Four real tokens, then padding; a mask that marks every other token."""
    source = replace(masked(list(range(10, 18)), [0, 1] * 4), valid=4)
    part = Part(0, start, end).of(source)
    assert part.tokens.tolist() == list(range(10 + start, 10 + end))
    assert part.valid == valid
    assert part.loss_mask is not None
    assert part.loss_mask.tolist() == [slot in (1, 3) for slot in range(start, end)]


def test_a_part_of_a_document_that_says_nothing_of_loss_says_nothing() -> None:
    assert Part(0, 0, 1).of(Document(np.array([5, 6]))).loss_mask is None


@pytest.mark.parametrize(("valid", "expected"), [(0, 0), (1, 1), (3, 3), (5, 5), (None, 5)])
def test_no_token_of_padding_is_a_target(valid: int | None, expected: int) -> None:
    mask = one_document.trainable(document(5, 6, 7, 0, 0, valid=valid))
    assert mask is not None
    assert mask.tolist() == [True] * expected + [False] * (5 - expected)


def test_a_mask_is_told_the_length_that_it_must_have() -> None:
    with pytest.raises(PackingError, match=r"loss_mask = \(1,\): must have 2 entries"):
        one_document.trainable(masked([5, 6], [1]))


# Histogram and strategy


def test_the_histogram_may_have_a_limit_of_0() -> None:
    counted = offline.histogram(np.array([0, 1]), 0)
    assert (counted.counts.tolist(), counted.counts.dtype, counted.skipped) == ([1], np.int64, 1)


def test_the_histogram_counts_and_reports_what_it_skips() -> None:
    counted = offline.histogram(np.array([4, 11]), 8)
    assert counted.counts.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]  # MB-09
    assert counted.skipped == 1


def test_a_document_without_a_token_is_skipped_and_the_longest_is_counted() -> None:
    counted = offline.histogram(np.array([-1, 0, 3]), 3)
    assert (counted.counts.tolist(), counted.skipped) == ([1, 0, 0, 1], 1)


@pytest.mark.parametrize(("lengths", "max_length"), [([-2], 8), ([1.5], 8), ([1], -1)])
def test_the_histogram_refuses_what_is_no_length(lengths: list[int], max_length: int) -> None:
    with pytest.raises(PackingError):
        offline.histogram(np.array(lengths), max_length)


def test_the_strategy_takes_lengths_in_ascending_order() -> None:
    strategy = REFERENCE.packing_strategy(np.array([0, 2, 0, 1]), 4, Algorithm.FIRST_FIT, 0)
    assert strategy.bins == ((1, 1), (3,))
    assert strategy.metadata == PackingMetadata(3, 2, 1.5, 62.5, 4, 2)


def test_ratios_are_rounded_to_two_digits() -> None:
    strategy = REFERENCE.packing_strategy(np.array([0, 0, 4]), 6, Algorithm.FIRST_FIT, 0)
    assert strategy.bins == ((2, 2, 2), (2,))
    assert (strategy.metadata.packing_factor, strategy.metadata.packing_efficiency) == (2.0, 66.67)
    strategy = REFERENCE.packing_strategy(np.array([0, 0, 0, 4]), 6, Algorithm.FIRST_FIT, 0)
    assert (strategy.metadata.packing_factor, strategy.metadata.packing_efficiency) == (2.0, 100.0)
    strategy = REFERENCE.packing_strategy(np.array([0, 0, 0, 2, 2]), 6, Algorithm.FIRST_FIT, 0)
    assert (strategy.metadata.packing_factor, strategy.metadata.packing_efficiency) == (1.33, 77.78)


@pytest.mark.parametrize(
    ("counts", "argument"), [([0, 0], "counts"), ([], "counts"), ([0, -1], "counts"), ([0] * 9 + [1], "lengths")]
)
def test_counts_without_a_document_that_fits_are_refused(counts: list[int], argument: str) -> None:
    with pytest.raises(PackingError) as raised:
        REFERENCE.packing_strategy(np.array(counts), 8, Algorithm.FIRST_FIT, 0)
    assert raised.value.argument == argument


# Fill


def test_loss_masks_move_to_the_slot_that_predicts() -> None:
    (row,) = offline.fill([masked([5, 6, 7, 8, 9, 0], [0, 0, 0, 1, 1, 1])], ((5,),), 8, seed=0)
    assert row.loss_mask.tolist() == [False, False, True, True, True, False]  # NM-03


def test_a_row_says_where_documents_start_and_how_much_of_them_is_real() -> None:
    documents = [document(5, 6, 7, 0), document(8, 9, 0, 0, valid=2)]
    (row,) = offline.fill(documents, ((3, 3),), 8, seed=0)
    assert row.starts.tolist() == [0, 4]
    assert row.valid is not None
    assert sorted(row.valid.tolist()) == [2, 4]


def test_documents_of_one_length_may_carry_masks_of_either_form() -> None:
    rows = offline.fill([masked([5, 6], [0, 1]), document(7, 8, answer_start=1)], ((1,), (1,)), 8, seed=0)
    assert [row.loss_mask.tolist() for row in rows] == [[True, False]] * 2


@pytest.mark.parametrize(
    ("lengths", "bins", "capacity"),
    [
        ([3, 3], ((3,),), 8),  # a document is left over
        ([3], ((3, 3),), 8),  # a place is left over
        ([3], ((2,),), 8),
        ([12], ((12,),), 8),  # MB-10
        ([3], ((3,), ()), 8),
    ],
)
def test_bins_that_do_not_match_the_documents_are_refused(
    lengths: list[int], bins: tuple[tuple[int, ...], ...], capacity: int
) -> None:
    with pytest.raises(PackingError, match="bins"):
        offline.fill([of_runtime_length(length) for length in lengths], bins, capacity, seed=0)


def test_rows_are_of_int64_whatever_the_documents_are_of() -> None:
    (row,) = offline.fill([Document(np.array([5, 6], dtype=np.int32), answer_start=1)], ((1,),), 8, seed=0)
    assert row.valid is not None
    assert {row.tokens.dtype, row.starts.dtype, row.valid.dtype} == {np.dtype(np.int64)}
    assert row.loss_mask.dtype == np.bool_


def test_a_document_must_say_what_is_trained() -> None:
    with pytest.raises(PackingError, match="answer_start"):
        offline.fill([Document(np.array([5, 6]))], ((1,),), 8, seed=0)


# The whole path


def test_the_golden_rows_of_megatron_bridge() -> None:
    documents = [document(*tokens, answer_start=2) for tokens in GOLDEN_DOCUMENTS]
    dataset = REFERENCE.pack_documents(documents, PackSpec(capacity=10, seed=0))
    assert [row.tokens.tolist() for row in dataset.rows] == [
        [200, 201, 202, 250, 0, 300, 301, 350, 351, 352, 353, 0],
        [100, 101, 150, 151, 0, 400, 450, 0],
    ]
    assert [row.starts.tolist() for row in dataset.rows] == [[0, 5], [0, 5]]
    assert dataset.metadata == PackingMetadata(6, 2, 2.0, 80.0, 10, 6)
    assert dataset.ledger == (
        LedgerEntry(0, Fate.KEPT, 1, 0),
        LedgerEntry(1, Fate.KEPT, 0, 0),
        LedgerEntry(2, Fate.KEPT, 0, 1),
        LedgerEntry(3, Fate.KEPT, 1, 1),
    )


def rows_of_megatron_bridge(lengths: list[int], algorithm: Algorithm, seed: int) -> list[list[int]]:
    """Documents by row, drawn in Megatron Bridge's order from one stream (section 2.6), written down plainly."""
    stream = np.random.RandomState(seed)
    order = sorted(lengths, reverse=algorithm == Algorithm.FIRST_FIT_DECREASING)
    if algorithm == Algorithm.FIRST_FIT_SHUFFLE:
        stream.shuffle(order)
    waiting: dict[int, list[int]] = {}
    for length in sorted(set(lengths)):
        group = [document for document, other in enumerate(lengths) if other == length]
        waiting[length] = [group[position] for position in stream.permutation(len(group))]
    bins = REFERENCE.assign_bins(np.array(order), 6, Algorithm.FIRST_FIT, 0)
    return [[waiting[length].pop() for length in of_bin] for of_bin in bins]


@pytest.mark.parametrize(
    "algorithm", [Algorithm.FIRST_FIT, Algorithm.FIRST_FIT_DECREASING, Algorithm.FIRST_FIT_SHUFFLE]
)
def test_one_random_stream_serves_shuffle_and_permutations(algorithm: Algorithm) -> None:
    lengths = [3, 1, 3, 2, 3, 1, 2, 3]
    documents = [document(100 + index, *[0] * length) for index, length in enumerate(lengths)]
    dataset = REFERENCE.pack_documents(documents, PackSpec(capacity=6, algorithm=algorithm, seed=7))
    packed = [(row.tokens[row.starts] - 100).tolist() for row in dataset.rows]
    assert packed == rows_of_megatron_bridge(lengths, algorithm, seed=7)


def test_operations_are_given_the_settings() -> None:
    given: dict[str, tuple[object, ...]] = {}

    class Listens(ReferenceImplementation):
        def pad_document(self, document: Document, *settings: Any) -> Document:
            given["pad_document"] = settings
            return super().pad_document(document, *settings)

        def packing_strategy(self, counts: IntArray, *settings: Any) -> PackingStrategy:
            given["packing_strategy"] = settings
            return super().packing_strategy(counts, *settings)

        def fill(self, documents: Sequence[Document], bins: Bins, *settings: Any) -> tuple[PackedRow, ...]:
            given["fill"] = settings
            return super().fill(documents, bins, *settings)

    Listens().pack_documents([of_runtime_length(3)], PackSpec(12, max_length=9, pad_multiple=4, pad_id=7, seed=5))
    assert given == {
        "pad_document": (9, 4, 7),
        "packing_strategy": (12, Algorithm.FIRST_FIT_SHUFFLE, 5),
        "fill": (12, 7, 5),
    }


def test_one_slot_is_room_for_a_document_of_one() -> None:
    dataset = REFERENCE.pack_documents([of_runtime_length(1)], PackSpec(capacity=1))
    assert [row.tokens.tolist() for row in dataset.rows] == [[10, 11]]


def test_packing_is_a_function_of_its_seed() -> None:
    documents = [of_runtime_length(length) for length in (3, 5, 2, 7, 4, 6, 1)]
    spec = PackSpec(capacity=8, seed=3)
    np.random.seed(1)  # noqa: NPY002
    first = REFERENCE.pack_documents(documents, spec)
    np.random.seed(2)  # noqa: NPY002
    second = REFERENCE.pack_documents(documents, spec)
    assert [row.tokens.tolist() for row in first.rows] == [row.tokens.tolist() for row in second.rows]  # MB-05


def test_every_document_is_padded_to_the_multiple() -> None:
    dataset = REFERENCE.pack_documents([of_runtime_length(3), of_runtime_length(5)], PackSpec(12, pad_multiple=4))
    (row,) = dataset.rows
    assert sorted(np.diff(np.append(row.starts, row.tokens.size)).tolist()) == [5, 9]
    assert dataset.metadata.dataset_max_seqlen == 8


def test_overlong_documents_are_truncated_to_the_last_multiple_within_both_limits() -> None:
    dataset = REFERENCE.pack_documents([of_runtime_length(30)], PackSpec(capacity=10, max_length=11, pad_multiple=4))
    assert dataset.rows[0].tokens.size == 9
    assert dataset.ledger == (LedgerEntry(0, Fate.TRUNCATED, 0, 0),)


def test_overlong_documents_can_be_split() -> None:
    """Seven slots in parts of four and three, one slot of padding; the ledger tells both places."""
    spec = PackSpec(capacity=4, pad_multiple=2, overlong=Overlong.SPLIT, pad_id=9)
    dataset = REFERENCE.pack_documents([of_runtime_length(7)], spec)
    assert sorted(row.tokens.tolist() for row in dataset.rows) == [[10, 11, 12, 13, 14], [14, 15, 16, 17, 9]]
    assert dataset.ledger is not None
    (entry,) = dataset.ledger
    first = next(number for number, row in enumerate(dataset.rows) if row.tokens[0] == 10)
    assert entry == LedgerEntry(0, Fate.SPLIT, first, 0, padding=1, rest=((1 - first, 0),))


def test_overlong_documents_can_be_dropped() -> None:
    spec = PackSpec(capacity=8, max_length=6, overlong=Overlong.DROP)
    dataset = REFERENCE.pack_documents([of_runtime_length(7), of_runtime_length(6)], spec)
    assert dataset.ledger == (LedgerEntry(0, Fate.DROPPED, None, None), LedgerEntry(1, Fate.KEPT, 0, 0))


def test_the_limit_for_dropping_is_the_last_multiple() -> None:
    spec = PackSpec(capacity=10, pad_multiple=4, overlong=Overlong.DROP)
    dataset = REFERENCE.pack_documents([of_runtime_length(9), of_runtime_length(8)], spec)
    assert dataset.ledger is not None
    assert [entry.fate for entry in dataset.ledger] == [Fate.DROPPED, Fate.KEPT]


def test_overlong_documents_can_be_refused() -> None:
    with pytest.raises(PackingError, match=r"documents\[1\] = '9 slots': must not be longer than 8 slots"):
        REFERENCE.pack_documents(
            [of_runtime_length(3), of_runtime_length(9)], PackSpec(capacity=8, overlong=Overlong.REJECT)
        )


def test_documents_without_a_token_are_dropped_and_those_of_one_token_are_kept() -> None:
    dataset = REFERENCE.pack_documents([document(), document(7), of_runtime_length(2)], PackSpec(capacity=8))
    assert dataset.ledger is not None
    assert [entry.fate for entry in dataset.ledger] == [Fate.DROPPED, Fate.KEPT, Fate.KEPT]
    assert sorted(dataset.rows[0].tokens.tolist()) == [7, 10, 11, 12]


def test_cutting_off_padding_alone_does_not_truncate_a_document() -> None:
    padded = document(5, 6, 0, 0, 0, 0, valid=2)
    dataset = REFERENCE.pack_documents([padded], PackSpec(capacity=3))
    assert dataset.ledger == (LedgerEntry(0, Fate.KEPT, 0, 0, padding=2),)


@pytest.mark.parametrize(
    ("documents", "spec"),
    [
        ((), PackSpec(capacity=8)),
        ((document(),), PackSpec(capacity=8)),
        ((of_runtime_length(9),), PackSpec(capacity=8, overlong=Overlong.DROP)),
        ((of_runtime_length(3),), PackSpec(capacity=0)),
        ((of_runtime_length(3),), PackSpec(capacity=8, pad_multiple=16)),
    ],
)
def test_nothing_to_pack_is_refused(documents: tuple[Document, ...], spec: PackSpec) -> None:
    with pytest.raises(PackingError):
        REFERENCE.pack_documents(documents, spec)


def test_documents_are_not_changed() -> None:
    tokens = np.array([5, 6, 7])
    tokens.flags.writeable = False
    source = Document(tokens, np.array([False, True, True]))
    REFERENCE.pack_documents([source, replace(source)], PackSpec(capacity=4, pad_multiple=4))
    assert tokens.tolist() == [5, 6, 7]
