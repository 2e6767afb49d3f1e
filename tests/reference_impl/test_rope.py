"""Rotary rows: tables recovered from Megatron-Core, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from reference_impl.batches import Layout
from reference_impl.errors import PackingError
from reference_impl.ranks import RotaryMode
from reference_impl.rope import rotary_axes, rotary_rows


def layout(padded: list[int]) -> Layout:
    return Layout(np.array(padded), np.array(padded))


@pytest.mark.parametrize(
    ("padded", "mode", "world", "rank", "rows"),
    [
        ([0, 4, 8], RotaryMode.RESTART, 2, 0, [0, 3, 0, 3]),
        ([0, 4, 8], RotaryMode.RESTART, 2, 1, [1, 2, 1, 2]),
        ([0, 4, 8], RotaryMode.STREAM, 2, 0, [0, 3, 4, 7]),
        ([0, 4, 8], RotaryMode.STREAM, 2, 1, [1, 2, 5, 6]),
        ([0, 8, 20], RotaryMode.RESTART, 2, 0, [0, 1, 6, 7, 0, 1, 2, 9, 10, 11]),
        ([0, 8, 20], RotaryMode.RESTART, 2, 1, [2, 3, 4, 5, 3, 4, 5, 6, 7, 8]),
        ([0, 8, 20], RotaryMode.STREAM, 2, 0, [0, 1, 6, 7, 8, 9, 10, 17, 18, 19]),
        ([0, 3, 6], RotaryMode.RESTART, 1, 0, [0, 1, 2, 0, 1, 2]),
        ([0], RotaryMode.RESTART, 2, 0, []),
    ],
)
def test_rows_are_those_of_the_unfused_kernel(
    padded: list[int], mode: RotaryMode, world: int, rank: int, rows: list[int]
) -> None:
    """Megatron-Core 0.18.2 ``_apply_rotary_pos_emb_thd``, with a table whose row k encodes k."""
    assert rotary_rows(layout(padded), world, rank, mode).tolist() == rows


def test_odd_local_lengths_are_refused() -> None:
    """B16: [0, 6, 12] gives each of two ranks three slots."""
    with pytest.raises(PackingError, match=r"divisible by 2 \* 2"):
        rotary_rows(layout([0, 6, 12]), 2, 0, RotaryMode.RESTART)


def test_axes_are_cut_in_the_segments_own_zigzag() -> None:
    """B13: rank 0 has the slots 0, 3, 4 and 7, not those of one document of 8."""
    positions = np.array([[0, 1, 2, 3, 0, 1, 2, 3], [0, 0, 1, 1, 0, 0, 1, 1]])
    assert rotary_axes(positions, layout([0, 4, 8]), 2, 0).tolist() == [[0, 3, 0, 3], [0, 1, 0, 1]]


@pytest.mark.parametrize("shape", [(3, 7), (8,), (3, 8, 1)])
def test_axes_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(PackingError, match="second of 8 slots"):
        rotary_axes(np.zeros(shape, dtype=np.int64), layout([0, 4, 8]), 2, 0)
