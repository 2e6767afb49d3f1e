"""Shifted values: Megatron-Core's own test values, the corpus, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from reference_impl.batches import Layout
from reference_impl.errors import PackingError
from reference_impl.mtp import roll
from reference_impl.ranks import Borders


def layout(padded: list[int], valid: list[int] | None = None) -> Layout:
    return Layout(np.array(padded if valid is None else valid), np.array(padded))


def rolled(
    values: list[int], stream: Layout, world: int = 1, depth: int = 1, borders: Borders = Borders.PADDED
) -> object:
    return [part.tolist() for part in roll(np.array(values), stream, world, depth, borders)]


def test_values_are_those_of_the_upstream_tests() -> None:
    """Megatron-Core ``test_roll_tensor_with_packed_sequences``, one rank and two."""
    assert rolled([1, 2, 3, 4, 5], layout([0, 3, 5])) == [[2, 3, 0, 5, 0]]
    values = [*range(1, 9), *range(11, 23)]
    assert rolled(values, layout([0, 8, 20]), 2) == [
        [2, 3, 8, 0, 12, 13, 14, 21, 22, 0],
        [4, 5, 6, 7, 15, 16, 17, 18, 19, 20],
    ]


def test_padded_streams_are_shifted_where_slots_end() -> None:
    """ML-09; 9 stands for padding."""
    stream = layout([0, 4, 8], [0, 3, 5])
    assert rolled([1, 2, 3, 9, 4, 5, 9, 9], stream) == [[2, 3, 9, 0, 5, 9, 9, 0]]
    two = layout([0, 8, 16], [0, 6, 13])
    assert rolled(list(range(1, 17)), two, 2) == [[2, 3, 8, 0, 10, 11, 16, 0], [4, 5, 6, 7, 12, 13, 14, 15]]


def test_valid_borders_leave_padding_out() -> None:
    stream = layout([0, 4, 8], [0, 3, 5])
    assert rolled([1, 2, 3, 9, 4, 5, 9, 9], stream, borders=Borders.VALID) == [[2, 3, 0, 0, 5, 0, 0, 0]]


def test_documents_without_slots_are_skipped() -> None:
    """ML-10: two ranks, boundaries [0, 4, 4, 8]."""
    assert rolled(list(range(1, 9)), layout([0, 4, 4, 8]), 2) == [[2, 0, 6, 0], [3, 4, 7, 8]]
    assert rolled([], layout([0]), 2) == [[], []]


@pytest.mark.parametrize(("depth", "expected"), [(0, [1, 2, 3, 4]), (2, [3, 4, 0, 0]), (4, [0] * 4), (9, [0] * 4)])
def test_depth_is_a_number_of_slots(depth: int, expected: list[int]) -> None:
    assert rolled([1, 2, 3, 4], layout([0, 4]), depth=depth) == [expected]


def test_a_negative_depth_is_refused() -> None:
    with pytest.raises(PackingError, match="depth = -1"):
        rolled([1, 2], layout([0, 2]), depth=-1)


def test_values_of_another_length_are_refused() -> None:
    with pytest.raises(PackingError, match="one entry for each of 4 slots"):
        rolled([1, 2], layout([0, 4]))
