"""In-batch packing: the golden of Megatron Bridge (section 3.1) and right values of the bug corpus."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reference_impl.batches import PaddedBatch, Parallelism
from reference_impl.errors import PackingError
from reference_impl.in_batch import pack_in_batch, padding_multiple


def batch(
    tokens: list[list[int]], padding_mask: list[list[int]] | None = None, positions: list[list[int]] | None = None
) -> PaddedBatch:
    array = np.array(tokens)
    return PaddedBatch(
        tokens=array,
        labels=array * 10,
        loss_mask=np.ones(array.shape),
        position_ids=np.tile(np.arange(array.shape[1]), (array.shape[0], 1))
        if positions is None
        else np.array(positions),
        padding_mask=None if padding_mask is None else np.array(padding_mask, dtype=np.bool_),
    )


GOLDEN = batch([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])


def test_every_row_becomes_a_segment_padded_to_the_multiple() -> None:
    packed = pack_in_batch(GOLDEN, 4, pad_id=0)
    assert packed.tokens.tolist() == [1, 2, 3, 0, 4, 5, 6, 7, 8, 0, 0, 0]
    assert packed.position_ids.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]
    assert packed.labels is not None
    assert packed.labels.tolist() == [10, 20, 30, -100, 40, 50, 60, 70, 80, -100, -100, -100]
    assert packed.loss_mask is not None
    assert packed.loss_mask.tolist() == [1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0]
    assert packed.layout.padded.tolist() == [0, 4, 12]
    assert packed.layout.valid.tolist() == [0, 3, 8]
    assert packed.max_seqlen == 8


def test_the_batch_carries_32_bit_boundaries() -> None:
    raw = pack_in_batch(GOLDEN, 4, pad_id=0).raw
    assert raw["cu_seqlens"].tolist() == [0, 4, 12]
    assert raw["cu_seqlens_unpadded"].tolist() == [0, 3, 8]
    assert {array.dtype for array in raw.values()} == {np.dtype(np.int32)}


def test_nothing_is_padded_with_a_multiple_of_1() -> None:
    packed = pack_in_batch(GOLDEN, 1, pad_id=0)
    assert packed.tokens.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert packed.layout.padded.tolist() == packed.layout.valid.tolist() == [0, 3, 8]
    assert sorted(packed.raw) == ["cu_seqlens", "max_seqlen"]


def test_padding_to_pairs_carries_valid_boundaries_too() -> None:
    packed = pack_in_batch(GOLDEN, 2, pad_id=0)
    assert packed.raw["cu_seqlens"].tolist() == [0, 4, 10]
    assert packed.raw["cu_seqlens_unpadded"].tolist() == [0, 3, 8]


def test_a_row_of_one_real_token_is_a_segment() -> None:
    assert pack_in_batch(batch([[5, 0], [6, 7]]), 1, pad_id=0).layout.padded.tolist() == [0, 1, 3]


def test_a_real_token_that_equals_the_pad_id_is_kept() -> None:
    source = batch([[5, 6, 7, 0, 0, 0], [8, 9, 4, 3, 0, 0]], [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]])
    assert pack_in_batch(source, 4, pad_id=0).layout.padded.tolist() == [0, 4, 12]  # MB-17


def test_left_padding_is_cut_off() -> None:
    source = batch([[0, 0, 5, 6, 7], [1, 2, 3, 4, 9]], [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    assert pack_in_batch(source, 1, pad_id=0).tokens.tolist() == [5, 6, 7, 1, 2, 3, 4, 9]  # MB-18


def test_holes_are_closed_in_order() -> None:
    assert pack_in_batch(batch([[5, 1, 6, 1, 7]], [[1, 0, 1, 0, 1]]), 1, pad_id=0).tokens.tolist() == [5, 6, 7]


def test_without_a_mask_only_a_trailing_run_of_the_pad_id_is_padding() -> None:
    assert pack_in_batch(batch([[0, 5, 0, 6, 0]]), 1, pad_id=0).tokens.tolist() == [0, 5, 0, 6]


def test_padding_goes_on_from_the_last_position_that_the_batch_gave() -> None:
    source = batch([[5, 6, 0]], positions=[[7, 9, 0]])
    assert pack_in_batch(source, 4, pad_id=0).position_ids.tolist() == [7, 9, 10, 11]


def test_a_row_without_a_real_token_contributes_no_segment() -> None:
    packed = pack_in_batch(batch([[0, 0], [5, 6], [0, 0]]), 1, pad_id=0)
    assert packed.layout.padded.tolist() == [0, 2]


@pytest.mark.parametrize("source", [batch([[0, 0], [0, 0]]), batch([[5, 6]], [[0, 0]])])
def test_a_batch_without_a_real_token_is_an_empty_stream(source: PaddedBatch) -> None:
    packed = pack_in_batch(source, 4, pad_id=0)
    assert packed.tokens.shape == packed.position_ids.shape == (0,)
    assert packed.layout.padded.tolist() == packed.layout.valid.tolist() == [0]
    assert packed.max_seqlen == packed.raw["max_seqlen"] == 0


def test_a_stage_without_loss_packs_without_labels() -> None:
    packed = pack_in_batch(PaddedBatch(GOLDEN.tokens, None, None, GOLDEN.position_ids), 1, pad_id=0)
    assert (packed.labels, packed.loss_mask) == (None, None)  # MB-21


@pytest.mark.parametrize(
    ("parallelism", "multiple"),
    [
        (Parallelism(), 1),
        (Parallelism(tensor=8), 1),
        (Parallelism(sequence_parallel=True), 1),
        (Parallelism(context=2), 4),
        (Parallelism(context=2, tensor=4), 4),
        (Parallelism(context=2, tensor=4, sequence_parallel=True), 8),  # MB-17
        (Parallelism(context=2, tensor=3, sequence_parallel=True), 12),
        (Parallelism(context=1, tensor=4, sequence_parallel=True), 4),
        (Parallelism(context=1, tensor=2, sequence_parallel=True), 2),
        (Parallelism(context=4, tensor=1, sequence_parallel=True), 8),
    ],
)
def test_the_multiple_serves_context_and_sequence_parallelism(parallelism: Parallelism, multiple: int) -> None:
    assert padding_multiple(parallelism) == multiple


@pytest.mark.parametrize("parallelism", [Parallelism(context=0), Parallelism(tensor=0)])
def test_a_parallel_group_has_a_rank(parallelism: Parallelism) -> None:
    with pytest.raises(PackingError, match="at least 1"):
        padding_multiple(parallelism)


def test_a_multiple_below_1_is_refused() -> None:
    with pytest.raises(PackingError, match="multiple"):
        pack_in_batch(GOLDEN, 0, pad_id=0)


@pytest.mark.parametrize("name", ["labels", "loss_mask", "position_ids", "padding_mask"])
def test_an_array_of_another_shape_is_named(name: str) -> None:
    with pytest.raises(PackingError) as raised:
        pack_in_batch(replace(GOLDEN, **{name: np.ones((2, 6))}), 1, pad_id=0)
    assert (raised.value.argument, raised.value.value) == (name, (2, 6))


def test_tokens_that_are_no_table_are_refused() -> None:
    with pytest.raises(PackingError, match=r"tokens = \(2,\): must have the two dimensions B x S"):
        pack_in_batch(PaddedBatch(np.array([1, 2]), None, None, np.array([0, 1])), 1, pad_id=0)
