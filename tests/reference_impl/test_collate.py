"""Collation: goldens of Megatron Bridge (sections 2.13 and 2.14) and right values of the bug corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.collate import collate, epoch_order
from reference_impl.documents import PackedRow, PackingMetadata
from reference_impl.errors import PackingError


def row(*documents: list[int], mask: Sequence[int] | None = None, valid: Sequence[int] | None = None) -> PackedRow:
    """A row of stored documents; without a mask every target is trained."""
    lengths = [len(tokens) for tokens in documents]
    tokens = np.concatenate([np.array(tokens, dtype=np.int64) for tokens in documents])
    starts = np.cumsum(lengths) - lengths
    if mask is None:
        mask = [slot for length in lengths for slot in [1] * (length - 1) + [0]]
    return PackedRow(
        tokens, np.array(mask, dtype=np.bool_), starts, None if valid is None else np.array(valid, dtype=np.int64)
    )


def metadata(max_samples_per_bin: int) -> PackingMetadata:
    return PackingMetadata(4, max_samples_per_bin, 2.0, 80.0, 16, 4)


def one(source: PackedRow, spec: CollateSpec, index: int = 0) -> ThdBatch:
    (batch,) = collate([source], [index], spec)
    return batch


def loss_mask(batch: ThdBatch) -> list[float]:
    assert batch.loss_mask is not None
    return batch.loss_mask.tolist()


def labels(batch: ThdBatch) -> list[int]:
    assert batch.labels is not None
    return batch.labels.tolist()


GOLDEN = row([5, 6, 7, 0], [8, 9, 0])
PADDED = row([5, 6, 7, 0, 0], [8, 9, 0, 0, 0], valid=[4, 3])


# Epoch order


@pytest.mark.parametrize(("seed", "order"), [(1234, [0, 1, 2, 1, 2, 0, 2]), (5, [0, 1, 2, 2, 0, 1, 1])])
def test_epochs_are_shuffled_like_those_of_megatron_bridge(seed: int, order: list[int]) -> None:
    assert epoch_order(3, 7, seed).tolist() == order


@pytest.mark.parametrize("n_samples", [0, 1, 3])
def test_one_row_serves_any_number_of_samples(n_samples: int) -> None:
    order = epoch_order(1, n_samples, 0)
    assert (order.shape, order.tolist()) == ((n_samples,), [0] * n_samples)  # MB-46


@pytest.mark.parametrize(("n_rows", "n_samples"), [(0, 1), (3, -1)])
def test_an_epoch_needs_rows_and_a_number_of_samples(n_rows: int, n_samples: int) -> None:
    with pytest.raises(PackingError):
        epoch_order(n_rows, n_samples, 0)


# One batch


def test_no_label_crosses_a_border() -> None:
    batch = one(GOLDEN, CollateSpec(width=8, pad_to_width=False))
    assert batch.tokens.tolist() == [5, 6, 7, 8, 9]
    assert labels(batch) == [6, 7, 0, 9, 0]
    assert loss_mask(batch) == [1.0] * 5
    assert batch.position_ids.tolist() == [0, 1, 2, 0, 1]
    assert batch.layout.padded.tolist() == batch.layout.valid.tolist() == [0, 3, 5]
    assert batch.max_seqlen == 3


def test_the_tail_is_a_segment_without_valid_tokens() -> None:
    batch = one(GOLDEN, CollateSpec(width=8, eos_id=2))
    assert batch.tokens.tolist() == [5, 6, 7, 8, 9, 2, 2, 2]
    assert labels(batch)[5:] == [2, 2, 2]
    assert loss_mask(batch) == [1.0] * 5 + [0.0] * 3
    assert batch.position_ids.tolist() == [0, 1, 2, 0, 1, 0, 0, 0]
    assert (batch.layout.padded.tolist(), batch.layout.valid.tolist()) == ([0, 3, 5, 8], [0, 3, 5, 5])


def test_the_tail_counts_for_the_longest_segment() -> None:
    assert one(GOLDEN, CollateSpec(width=32, pad_to_width=False, width_multiple=16)).max_seqlen == 11


def test_the_width_is_never_above_the_row_size() -> None:
    assert one(GOLDEN, CollateSpec(width=7, pad_to_width=False, width_multiple=16)).tokens.size == 7


def test_alignment_padding_is_neither_valid_nor_trained() -> None:
    batch = one(PADDED, CollateSpec(width=12, document_multiple=4))
    assert batch.tokens.tolist() == [5, 6, 7, 0, 8, 9, 0, 0, 0, 0, 0, 0]
    assert loss_mask(batch) == [1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    assert batch.position_ids.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 0, 0]
    assert batch.layout.padded.tolist() == [0, 4, 8, 12]
    assert batch.layout.valid.tolist() == [0, 3, 5, 5]


@pytest.mark.parametrize(
    ("documents", "valid"),
    [
        (([5, 2, 6, 2, 7, 8, 2], [9, 10, 2]), [0, 6, 8]),  # MB-14
        (([5, 2, 6, 2, 7, 8, 2], [2, 9, 10, 2], [9, 10, 11, 2]), [0, 6, 9, 12]),  # NM-04
        (([7, 2, 2, 2, 2],), [0, 4]),  # MB-15
        (([2, 2, 2],), [0, 2]),
    ],
)
def test_valid_lengths_do_not_depend_on_token_values(documents: tuple[list[int], ...], valid: list[int]) -> None:
    batch = one(row(*documents), CollateSpec(width=12, pad_to_width=False, document_multiple=2, eos_id=2))
    assert batch.layout.valid.tolist() == valid


def test_eos_inside_a_document_keeps_its_loss() -> None:
    batch = one(row([5, 6, 2, 7, 8, 2]), CollateSpec(width=5, eos_id=2))
    assert loss_mask(batch) == [1.0] * 5  # MB-04


def test_a_genuine_last_eos_keeps_its_loss_when_padding_looks_the_same() -> None:
    batch = one(row([5, 6, 2, 2, 2], valid=[3]), CollateSpec(width=4, eos_id=2))
    assert loss_mask(batch) == [1, 1, 0, 0]  # MB-38


def test_a_stored_mask_that_marks_padding_does_not_train_it() -> None:
    batch = one(row([5, 6, 2, 2, 2], mask=[1, 1, 1, 1, 0], valid=[3]), CollateSpec(width=4))
    assert loss_mask(batch) == [1, 1, 0, 0]  # S1


def test_without_answer_only_loss_every_real_slot_is_trained() -> None:
    spec = CollateSpec(width=12, answer_only_loss=False)
    masked = row([5, 0, 7, 0, 0], [8, 9, 0, 0, 0], mask=[0] * 10, valid=[4, 3])
    assert loss_mask(one(masked, spec)) == [1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0]


def test_documents_of_one_token_make_segments_without_slots() -> None:
    batch = one(row([5, 6, 0], [7], [8, 0]), CollateSpec(width=4))
    assert batch.layout.padded.tolist() == [0, 2, 2, 3, 4]
    assert batch.tokens.tolist() == [5, 6, 8, 0]


def test_a_document_that_is_all_padding_has_no_valid_slot() -> None:
    assert one(row([0, 0, 0], valid=[0]), CollateSpec(width=2)).layout.valid.tolist() == [0, 0]


# What the batch carries


def test_boundaries_are_32_bit_slots() -> None:
    raw = one(GOLDEN, CollateSpec(width=8)).raw
    assert sorted(raw) == ["cu_seqlens", "max_seqlen"]
    assert (raw["cu_seqlens"].dtype, raw["cu_seqlens"].tolist()) == (np.int32, [0, 3, 5, 8])
    assert raw["max_seqlen"].tolist() == 3


@pytest.mark.parametrize(("multiple", "carried"), [(None, False), (1, False), (2, True), (4, True)])
def test_valid_boundaries_are_carried_when_documents_are_padded(multiple: int | None, carried: bool) -> None:
    raw = one(PADDED, CollateSpec(width=12, document_multiple=multiple)).raw
    assert ("cu_seqlens_unpadded" in raw) == carried


def test_arrays_keep_their_types_with_and_without_a_tail() -> None:
    for width in (5, 8):
        batch = one(GOLDEN, CollateSpec(width=width))
        assert batch.labels is not None
        assert batch.loss_mask is not None
        integers = {batch.tokens.dtype, batch.labels.dtype, batch.position_ids.dtype, batch.layout.padded.dtype}
        assert integers == {np.dtype(np.int64)}
        assert batch.loss_mask.dtype == np.float64


def test_static_boundaries_have_one_length_for_both_arrays() -> None:
    source = row([5, 6, 7, 0, 0], [8, 9, 3, 0, 0], valid=[4, 4])
    spec = CollateSpec(width=16, document_multiple=4, static_boundaries=True, metadata=(metadata(3), metadata(2)))
    raw = one(source, spec).raw
    assert raw["cu_seqlens"].tolist() == [0, 4, 8, 16, 16]  # MB-37
    assert raw["cu_seqlens_unpadded"].tolist() == [0, 3, 6, 6, 6]
    assert raw["cu_seqlens"].dtype == raw["cu_seqlens_unpadded"].dtype == np.int32


def test_static_boundaries_hold_the_fullest_row_with_and_without_a_tail() -> None:
    spec = CollateSpec(width=5, static_boundaries=True, metadata=(metadata(2),))
    full, short = row([5, 6, 7, 0], [8, 9, 0]), row([5, 6, 0], [8, 0])
    batches = collate([full, short], [0, 1], spec)
    assert [batch.raw["cu_seqlens"].tolist() for batch in batches] == [[0, 3, 5, 5], [0, 2, 3, 5]]


@pytest.mark.parametrize(
    ("spec", "argument"),
    [
        (CollateSpec(width=8, static_boundaries=True), "static_boundaries"),
        (
            CollateSpec(width=8, static_boundaries=True, pad_to_width=False, metadata=(metadata(2),)),
            "static_boundaries",
        ),
        (CollateSpec(width=8, static_boundaries=True, metadata=(metadata(1),)), "metadata"),
        (CollateSpec(width=4), "rows"),
        (CollateSpec(width=8, width_multiple=0), "width_multiple"),
    ],
)
def test_settings_that_do_not_fit_the_rows_are_refused(spec: CollateSpec, argument: str) -> None:
    with pytest.raises(PackingError) as raised:
        one(GOLDEN, spec)
    assert raised.value.argument == argument


# Several samples


def test_all_batches_of_a_call_have_the_width_of_the_longest() -> None:
    rows = [row([1, 2, 3], [4, 5, 6], [7, 8, 9]), row([1, 2, 3, 4, 5, 6, 7, 8])]
    batches = collate(rows, [0, 1], CollateSpec(width=16, pad_to_width=False))
    assert [batch.layout.padded.tolist() for batch in batches] == [[0, 2, 4, 6, 7], [0, 7]]  # MB-03


def test_without_a_number_of_samples_they_are_the_rows_of_the_file() -> None:
    rows = [row([10 + number, 0]) for number in range(5)]
    batches = collate(rows, range(5), CollateSpec(width=1, seed=1234))
    assert [int(batch.tokens[0]) for batch in batches] == [10, 11, 12, 13, 14]


def test_samples_beyond_the_rows_go_through_the_epochs() -> None:
    rows = [row([10, 0]), row([11, 0]), row([12, 0])]
    batches = collate(rows, range(7), CollateSpec(width=1, n_samples=7, seed=1234))
    assert [int(batch.tokens[0]) - 10 for batch in batches] == [0, 1, 2, 1, 2, 0, 2]


def test_the_first_sample_is_the_first_of_the_shuffled_epoch() -> None:
    rows = [row([10, 0]), row([11, 0]), row([12, 0])]
    (batch,) = collate(rows, [0], CollateSpec(width=1, n_samples=3, seed=0))
    assert epoch_order(3, 3, 0)[0] != 0
    assert batch.tokens.tolist() == [10 + epoch_order(3, 3, 0)[0]]


@pytest.mark.parametrize("answer_only_loss", [True, False])
@pytest.mark.parametrize("n_samples", [None, 3])
@pytest.mark.parametrize("index", [-1, -7])
def test_a_filler_trains_nothing(index: int, n_samples: int | None, answer_only_loss: bool) -> None:
    spec = CollateSpec(width=8, n_samples=n_samples, answer_only_loss=answer_only_loss)
    assert loss_mask(one(GOLDEN, spec, index)) == [0.0] * 8  # MB-24, S2


def test_no_samples_make_no_batches() -> None:
    assert collate([GOLDEN], [], CollateSpec(width=8, pad_to_width=False)) == ()


@pytest.mark.parametrize(("rows", "index", "argument"), [([], 0, "rows"), ([GOLDEN], 1, "indices")])
def test_a_sample_that_is_not_there_is_refused(rows: list[PackedRow], index: int, argument: str) -> None:
    with pytest.raises(PackingError) as raised:
        collate(rows, [index], CollateSpec(width=8))
    assert raised.value.argument == argument
