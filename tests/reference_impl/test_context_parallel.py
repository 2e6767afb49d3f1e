"""Context parallelism: tables of TransformerEngine and Megatron-Core, and right values of the bug corpus."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reference_impl.batches import Layout, ThdBatch
from reference_impl.context_parallel import all_to_all_order, gather, local_boundaries, partition, slice_batch
from reference_impl.errors import PackingError


def layout(padded: list[int], valid: list[int] | None = None) -> Layout:
    return Layout(np.array(padded if valid is None else valid), np.array(padded))


def stream(padded: list[int]) -> ThdBatch:
    total = padded[-1]
    return ThdBatch(
        tokens=np.arange(100, 100 + total),
        labels=np.arange(200, 200 + total),
        loss_mask=np.arange(total) / 2,
        position_ids=np.arange(total),
        layout=layout(padded),
        max_seqlen=8,
        raw={"cu_seqlens": np.array(padded, dtype=np.int32)},
    )


@pytest.mark.parametrize(
    ("padded", "slots_by_rank"),
    [
        ([0, 8], [[0, 1, 6, 7], [2, 3, 4, 5]]),
        ([0, 8, 16], [[0, 1, 6, 7, 8, 9, 14, 15], [2, 3, 4, 5, 10, 11, 12, 13]]),
        ([0, 8, 12], [[0, 1, 6, 7, 8, 11], [2, 3, 4, 5, 9, 10]]),
        ([0, 4, 16], [[0, 3, 4, 5, 6, 13, 14, 15], [1, 2, 7, 8, 9, 10, 11, 12]]),
        ([0, 4, 8], [[0, 3, 4, 7], [1, 2, 5, 6]]),  # MB-02, MB-11
        ([0, 4, 4, 8], [[0, 3, 4, 7], [1, 2, 5, 6]]),  # ML-10
        ([0, 0, 4, 8, 8], [[0, 3, 4, 7], [1, 2, 5, 6]]),
        ([0], [[], []]),
        (
            [0, 8, 16, 24, 40],
            [
                [0, 7, 8, 15, 16, 23, 24, 25, 38, 39],
                [1, 6, 9, 14, 17, 22, 26, 27, 36, 37],
                [2, 5, 10, 13, 18, 21, 28, 29, 34, 35],
                [3, 4, 11, 12, 19, 20, 30, 31, 32, 33],
            ],
        ),
    ],
)
def test_every_rank_owns_two_chunks_of_every_segment(padded: list[int], slots_by_rank: list[list[int]]) -> None:
    slots = [partition(layout(padded), len(slots_by_rank), rank) for rank in range(len(slots_by_rank))]
    assert [s.tolist() for s in slots] == slots_by_rank
    assert all(s.dtype == np.int64 for s in slots)


@pytest.mark.parametrize("world", [2, 3, 4, 8])
def test_the_ranks_share_all_slots_and_the_causal_work(world: int) -> None:
    lengths = 2 * world * np.array([3, 0, 1, 5])
    source = layout([0, *np.cumsum(lengths).tolist()])
    slots = [partition(source, world, rank) for rank in range(world)]
    assert sorted(np.concatenate(slots).tolist()) == list(range(int(lengths.sum())))
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    assert len({int((s - starts[s] + 1).sum()) for s in slots}) == 1
    assert all((np.diff(s) > 0).all() for s in slots)


def test_one_rank_owns_everything_whatever_the_lengths() -> None:
    assert partition(layout([0, 3, 5]), 1, 0).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("padded", [[0, 6, 12], [0, 6, 8], [0, 2, 8], [0, 5, 12]])
def test_slots_that_cannot_be_cut_are_refused(padded: list[int]) -> None:
    with pytest.raises(PackingError, match=r"divisible by 2 \* 2"):
        partition(layout(padded), 2, 0)


@pytest.mark.parametrize(
    ("world", "rank", "argument"), [(2, 2, "rank"), (2, -1, "rank"), (1, 1, "rank"), (0, 0, "world")]
)
def test_a_rank_outside_of_the_group_is_refused(world: int, rank: int, argument: str) -> None:
    with pytest.raises(PackingError) as raised:
        local_boundaries(layout([0, 8]), world, rank)
    assert raised.value.argument == argument


def test_a_refused_rank_is_told_the_ranks_there_are() -> None:
    with pytest.raises(PackingError, match=r"rank = 4: must be from 0 to 3$"):
        partition(layout([0, 8]), 4, 4)


def test_boundaries_that_do_not_start_at_0_are_refused() -> None:
    with pytest.raises(PackingError, match="start at 0"):
        partition(layout([4, 8]), 2, 0)


def test_slots_go_to_the_ranks_and_come_back_in_order() -> None:
    """What recurrent layers exchange: all slots of rank 0, then those of rank 1."""
    order = all_to_all_order(layout([0, 8, 12]), 2)
    assert order.to_ranks.tolist() == [0, 1, 6, 7, 8, 11, 2, 3, 4, 5, 9, 10]
    assert order.to_stream.tolist() == [0, 1, 6, 7, 8, 9, 2, 3, 4, 10, 11, 5]
    assert order.to_ranks[order.to_stream].tolist() == list(range(12))


# Local boundaries


@pytest.mark.parametrize(
    ("padded", "valid", "by_rank"),
    [
        ([0, 8, 16], [0, 5, 9], [[0, 2, 4], [0, 3, 5]]),
        ([0, 4, 8], [0, 3, 7], [[0, 1, 3], [0, 2, 4]]),  # TE-03
        ([0, 8], [0, 7], [[0, 3], [0, 4]]),  # TE-02
        ([0, 704], [0, 698], [[0, 170], [0, 176], [0, 176], [0, 176]]),
        ([0, 16], [0, 4], [[0, 4], [0, 0]]),
        ([0, 4, 4], [0, 0, 0], [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_valid_tokens_are_counted_where_they_are(
    padded: list[int], valid: list[int], by_rank: list[list[int]]
) -> None:
    source = layout(padded, valid)
    assert [local_boundaries(source, len(by_rank), rank).tolist() for rank in range(len(by_rank))] == by_rank


def test_local_boundaries_count_the_valid_slots_of_the_partition() -> None:
    source = layout([0, 24, 36], [0, 17, 20])
    valid = np.concatenate([np.arange(24) < 17, np.arange(12) < 3])
    for rank in range(3):
        assert local_boundaries(source, 3, rank)[-1] == valid[partition(source, 3, rank)].sum()


def test_one_rank_has_all_valid_tokens() -> None:
    assert local_boundaries(layout([0, 4, 8], [0, 3, 5]), 1, 0).tolist() == [0, 3, 5]


# Slices


def test_all_arrays_are_cut_by_one_index_and_the_rest_stays_global() -> None:
    whole = stream([0, 8, 12])
    part = slice_batch(whole, 2, 0)
    slots = [0, 1, 6, 7, 8, 11]
    assert part.tokens.tolist() == [100 + slot for slot in slots]
    assert part.labels is not None
    assert part.labels.tolist() == [200 + slot for slot in slots]
    assert part.loss_mask is not None
    assert part.loss_mask.tolist() == [slot / 2 for slot in slots]
    assert part.position_ids.tolist() == slots
    assert part.layout is whole.layout
    assert (part.max_seqlen, part.raw) == (whole.max_seqlen, whole.raw)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_gathering_the_parts_gives_the_whole(world: int) -> None:
    whole = stream([0, 8, 16, 32])
    back = gather([slice_batch(whole, world, rank) for rank in range(world)])
    assert back.tokens.tolist() == whole.tokens.tolist()  # SL-02
    assert back.labels is not None
    assert back.labels.tolist() == np.arange(200, 232).tolist()
    assert back.loss_mask is not None
    assert back.loss_mask.tolist() == (np.arange(32) / 2).tolist()
    assert back.position_ids.tolist() == whole.position_ids.tolist()
    assert [back.tokens.dtype, back.labels.dtype, back.loss_mask.dtype] == [np.int64, np.int64, np.float64]


def test_a_stage_without_loss_is_sliced_and_gathered_too() -> None:
    whole = replace(stream([0, 8]), labels=None, loss_mask=None)
    parts = [slice_batch(whole, 2, rank) for rank in range(2)]
    assert parts[0].labels is None
    assert gather(parts).loss_mask is None


def test_a_stream_of_another_length_than_its_boundaries_is_refused() -> None:
    with pytest.raises(PackingError, match=r"batch\.tokens = \(8,\): must have one entry for each of 12 slots"):
        slice_batch(replace(stream([0, 8]), layout=layout([0, 8, 12])), 2, 0)


def test_parts_that_do_not_belong_together_are_refused() -> None:
    first, second = (slice_batch(stream([0, 8, 16]), 2, rank) for rank in range(2))
    for bad in (
        replace(second, layout=layout([0, 16])),
        replace(second, layout=layout([0, 8, 16], [0, 7, 15])),
        replace(second, labels=None),
        replace(second, tokens=second.tokens[1:]),
    ):
        with pytest.raises(PackingError, match=r"parts\[1\]"):
            gather([first, bad])


def test_no_parts_are_refused() -> None:
    with pytest.raises(PackingError, match="parts"):
        gather([])
