"""THD boundaries: goldens of Megatron Bridge, Megatron-Core and TransformerEngine, and of the bug corpus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_impl import thd
from reference_impl.batches import BoundaryMetadata, Layout
from reference_impl.errors import PackingError


def layout(valid: list[int], padded: list[int] | None = None) -> Layout:
    return Layout(np.array(valid), np.array(valid if padded is None else padded))


def boundaries(values: list[Any]) -> np.ndarray:
    return np.array(values, dtype=np.int32)


# Kernel parameters


@pytest.mark.parametrize(
    ("cu_seqlens", "argmin", "expected"),
    [
        ([0, 128, 256, 384, -1, -1], 4, [0, 128, 256, 384]),
        ([0, 128, 256, -1, -1], None, [0, 128, 256]),
        ([[0, 64, 128, -1]], 3, [0, 64, 128]),
        ([0, 512, -1], None, [0, 512]),
        ([0, -1], 1, [0]),
        ([0, 2**31 - 1], None, [0, 2**31 - 1]),
        ([0, 3, 8], None, [0, 3, 8]),  # MB-12
        ([0, 3, 8], 3, [0, 3, 8]),
        ([0, 4, 8, -1], None, [0, 4, 8]),  # MB-11
        ([0, 4, 4, 8], None, [0, 4, 4, 8]),
        ([0], None, [0]),
    ],
)
def test_sentinels_are_cut_and_nothing_else(cu_seqlens: list[Any], argmin: int | None, expected: list[int]) -> None:
    params = thd.sequence_params(BoundaryMetadata(boundaries(cu_seqlens), argmin))
    assert params.cu_seqlens_q.tolist() == params.cu_seqlens_kv.tolist() == expected
    assert params.cu_seqlens_q.dtype == np.int32
    assert params.cu_seqlens_q_padded is None
    assert params.cu_seqlens_kv_padded is None
    assert params.qkv_format == "thd"


@pytest.mark.parametrize(("argmin", "unpadded_argmin"), [(4, 4), (None, None), (4, None)])
def test_padded_boundaries_are_there_when_they_differ(argmin: int | None, unpadded_argmin: int | None) -> None:
    params = thd.sequence_params(
        BoundaryMetadata(
            boundaries([0, 128, 256, 384, -1, -1]), argmin, boundaries([0, 120, 245, 370, -1, -1]), unpadded_argmin
        )
    )
    assert params.cu_seqlens_q.tolist() == [0, 120, 245, 370]
    assert params.cu_seqlens_q_padded is not None
    assert params.cu_seqlens_kv_padded is not None
    assert params.cu_seqlens_q_padded.tolist() == params.cu_seqlens_kv_padded.tolist() == [0, 128, 256, 384]
    assert params.cu_seqlens_q_padded.dtype == np.int32


def test_each_array_is_cut_at_an_argmin_of_its_own() -> None:
    params = thd.sequence_params(BoundaryMetadata(boundaries([0, 4, 8]), 3, boundaries([0, 3, 5, 5, 5]), 3))
    assert params.cu_seqlens_q.tolist() == [0, 3, 5]


def test_padded_boundaries_that_equal_the_valid_ones_are_left_out() -> None:
    params = thd.sequence_params(BoundaryMetadata(boundaries([0, 6, 8]), None, boundaries([0, 6, 8])))
    assert params.cu_seqlens_q_padded is None  # MB-16


@pytest.mark.parametrize("max_seqlen", [None, 5, 9])
def test_the_longest_segment_is_passed_on(max_seqlen: int | None) -> None:
    params = thd.sequence_params(BoundaryMetadata(boundaries([0, 3, 8]), max_seqlen=max_seqlen))
    assert params.max_seqlen_q == params.max_seqlen_kv == max_seqlen


def test_no_segment_is_no_slots_long() -> None:
    assert thd.sequence_params(BoundaryMetadata(boundaries([0]), max_seqlen=0)).max_seqlen_q == 0


def test_a_total_makes_an_index_of_slots() -> None:
    params = thd.sequence_params(BoundaryMetadata(boundaries([0, 5, 7, 11]), total_tokens=16))
    assert params.seq_idx is not None
    assert params.seq_idx.tolist() == [0] * 5 + [1] * 2 + [2] * 4 + [3] * 5  # MB-23
    assert params.seq_idx.dtype == np.int32


def test_the_index_of_slots_follows_the_padded_boundaries() -> None:
    params = thd.sequence_params(BoundaryMetadata(boundaries([0, 4, 8]), None, boundaries([0, 3, 5]), total_tokens=8))
    assert params.seq_idx is not None
    assert params.seq_idx.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_without_a_total_there_is_no_index() -> None:
    assert thd.sequence_params(BoundaryMetadata(boundaries([0, 5]))).seq_idx is None


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (BoundaryMetadata(boundaries([[0, 4], [0, 3]])), "micro batch size 1"),
        (BoundaryMetadata(np.int32(4)), "micro batch size 1"),  # type: ignore[arg-type]
        (BoundaryMetadata(boundaries([])), "with an entry"),
        (BoundaryMetadata(boundaries([-1, -1])), "with an entry"),
        (BoundaryMetadata(np.array([0.0, 4.0])), "array of integers"),  # type: ignore[arg-type]
        (BoundaryMetadata(boundaries([1, 4])), r"^cu_seqlens = .* start at 0"),
        (BoundaryMetadata(boundaries([0, 4]), None, boundaries([1, 4])), r"^cu_seqlens_unpadded = .* start at 0"),
        (BoundaryMetadata(boundaries([0, 4, 3])), "not decrease"),
        (BoundaryMetadata(boundaries([0, 4, -1]), argmin=3), "not decrease"),
        (BoundaryMetadata(boundaries([0, 4]), argmin=0), "argmin = 0"),
        (BoundaryMetadata(boundaries([0, 4]), argmin=3), "argmin = 3"),
        (BoundaryMetadata(boundaries([0, 4, 8]), None, boundaries([0, 3])), "as many entries"),
        (BoundaryMetadata(boundaries([0, 4, 8]), None, boundaries([0, 5, 6])), "fit into the slots"),
        (BoundaryMetadata(boundaries([0, 3, 8]), max_seqlen=4), "longest segment of 5"),
        (BoundaryMetadata(boundaries([0, 3, 8]), total_tokens=7), "cover all 8 slots"),
        (BoundaryMetadata(np.array([0, 5, 2**31])), "cu_seqlens = 2147483648: must fit into 32 bits"),  # type: ignore[arg-type]
    ],
)
def test_boundaries_that_no_kernel_can_use_are_refused(metadata: BoundaryMetadata, reason: str) -> None:
    with pytest.raises(PackingError, match=reason):
        thd.sequence_params(metadata)


# Slot by slot


@pytest.mark.parametrize(
    ("source", "total", "expected"),
    [
        (layout([0, 5, 7, 11]), 11, [0] * 5 + [1] * 2 + [2] * 4),
        (layout([0, 3, 5], [0, 4, 8]), 8, [0] * 4 + [1] * 4),
        (layout([0, 4, 4, 8]), 8, [0] * 4 + [2] * 4),
        (layout([0]), 2, [0, 0]),
        (layout([0]), 0, []),
    ],
)
def test_every_slot_knows_its_segment(source: Layout, total: int, expected: list[int]) -> None:
    index = thd.sequence_index(source, total)
    assert (index.tolist(), index.dtype) == (expected, np.int64)


def test_a_total_below_the_last_boundary_is_refused() -> None:
    with pytest.raises(PackingError, match="total = 4"):
        thd.sequence_index(layout([0, 8]), 4)  # ML-08


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (layout([0, 2, 5], [0, 4, 8]), [0, 1, 2, 3, 0, 1, 2, 3]),
        (layout([0, 3, 7], [0, 4, 8]), [0, 1, 2, 3, 0, 1, 2, 3]),  # ML-19
        (layout([0, 3, 5]), [0, 1, 2, 0, 1]),
        (layout([0, 0, 2, 2]), [0, 1]),
        (layout([0]), []),
    ],
)
def test_positions_restart_in_every_segment(source: Layout, expected: list[int]) -> None:
    assert thd.position_ids(source).tolist() == expected


def test_the_padding_mask_is_the_complement_of_the_valid_tokens() -> None:
    mask = thd.padding_mask(layout([0, 3, 5], [0, 4, 8]))
    assert (mask.dtype, mask.tolist()) == (np.bool_, [False, False, False, True, False, False, True, True])


def test_a_stream_without_padding_has_an_empty_mask() -> None:
    assert not thd.padding_mask(layout([0, 3, 5])).any()


# Layouts


@pytest.mark.parametrize(
    ("lengths", "multiple", "padded"),
    [
        ([3, 2, 4], 8, [0, 8, 16, 24]),
        ([2, 7, 4, 10], 6, [0, 6, 18, 24, 36]),
        ([7, 11, 5], 4, [0, 8, 20, 28]),
        ([2, 3], 4, [0, 4, 8]),
        ([4, 0, 1], 4, [0, 4, 4, 8]),
        ([3, 2], 1, [0, 3, 5]),
        ([], 4, [0]),
    ],
)
def test_segments_are_padded_to_the_next_multiple(lengths: list[int], multiple: int, padded: list[int]) -> None:
    result = thd.pad_layout(np.array(lengths), multiple)
    assert result.padded.tolist() == padded
    assert np.diff(result.valid).tolist() == lengths
    assert result.valid.dtype == result.padded.dtype == np.int64


@pytest.mark.parametrize(("lengths", "multiple", "argument"), [([3], 0, "multiple"), ([-1], 4, "lengths")])
def test_lengths_that_cannot_be_padded_are_refused(lengths: list[int], multiple: int, argument: str) -> None:
    with pytest.raises(PackingError) as raised:
        thd.pad_layout(np.array(lengths), multiple)
    assert raised.value.argument == argument


def test_streams_are_merged_one_after_another() -> None:
    merged = thd.merge_layouts([layout([0, 4, 8]), layout([0, 2, 3], [0, 3, 8])])
    assert merged.padded.tolist() == [0, 4, 8, 11, 16]
    assert merged.valid.tolist() == [0, 4, 8, 10, 11]


def test_a_stream_that_ends_early_does_not_join_its_neighbour() -> None:
    assert thd.merge_layouts([layout([0, 4, 6]), layout([0, 3, 8])]).padded.tolist() == [0, 4, 6, 9, 14]  # B21


def test_no_streams_merge_to_the_empty_one() -> None:
    merged = thd.merge_layouts([])
    assert merged.valid.tolist() == merged.padded.tolist() == [0]


@pytest.mark.parametrize(
    ("valid", "padded", "reason"),
    [
        ([0, 3], [0, 4, 8], "as many entries"),
        ([0, 5], [0, 4], "fit into the slots"),
        ([0, 3, 8], [0, 4, 8], "fit into the slots"),
        ([1, 3], [0, 4], r"^layout\.valid = .* start at 0"),
        ([0, 3], [0, -4], r"^layout\.padded = .* not decrease"),
        ([], [], "with an entry"),
        ([[0, 3]], [[0, 4]], "one-dimensional"),
    ],
)
def test_a_malformed_layout_is_refused(valid: list[Any], padded: list[Any], reason: str) -> None:
    with pytest.raises(PackingError, match=reason):
        thd.check_layout(Layout(np.array(valid, dtype=np.int64), np.array(padded, dtype=np.int64)))
