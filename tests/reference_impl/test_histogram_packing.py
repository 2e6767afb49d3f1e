"""The histogram packers: the published Wikipedia table, the rules word for word, and refusals."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties.law import ALL_CHECKS
from reference_impl.documents import Bins
from reference_impl.errors import PackingError
from reference_impl.histogram_packing import (
    PackGroup,
    counted,
    expanded,
    longest_pack_first,
    shortest_pack_first,
)
from reference_impl.naive_bins import naive_longest_pack_first, naive_shortest_pack_first

HISTOGRAM = "PACKPROOF_WIKIPEDIA_HISTOGRAM"
needs_histogram = pytest.mark.skipif(
    HISTOGRAM not in os.environ,
    reason=f"{HISTOGRAM} names no JSON file with the published `counts` of lengths 1 to 512 (arXiv 2107.02027)",
)
DRAWS = settings(deadline=None, database=None, derandomize=True, suppress_health_check=ALL_CHECKS, max_examples=300)


@cache
def _wikipedia() -> dict[int, int]:
    """Sequences of BERT's Wikipedia data by length; the data is not ours, so it is not shipped."""
    counts = json.loads(Path(os.environ[HISTOGRAM]).read_text(encoding="utf-8"))["counts"]
    return dict(enumerate(counts, start=1))


def _efficiency(groups: tuple[PackGroup, ...]) -> float:
    """Percent of the slots of all packs that hold a token."""
    tokens = sum(length * number for length, number in _wikipedia().items())
    return 100 * tokens / (512 * sum(group.count for group in groups))


@needs_histogram
@pytest.mark.parametrize(
    ("pack", "most_documents", "published"),
    [
        (shortest_pack_first, 1, 49.97),
        (shortest_pack_first, 2, 80.52),
        (shortest_pack_first, 3, 89.44),
        (shortest_pack_first, 4, 93.94),
        (shortest_pack_first, 8, 98.90),
        (shortest_pack_first, 12, 99.60),
        (longest_pack_first, 12, 99.81),
    ],
)
def test_packing_wikipedia_is_as_efficient_as_published(pack, most_documents: int, published: float) -> None:  # noqa: ANN001
    """The table of the paper for BERT's Wikipedia data at 512 tokens, by most documents per pack."""
    assert round(_efficiency(pack(_wikipedia(), 512, most_documents=most_documents)), 2) == published


@needs_histogram
@pytest.mark.parametrize("pack", [shortest_pack_first, longest_pack_first])
def test_packing_wikipedia_keeps_every_document(pack) -> None:  # noqa: ANN001
    """Sixteen million documents are in the groups, each length as often as it was counted."""
    counts = _wikipedia()
    held = dict.fromkeys(counts, 0)
    for group in pack(counts, 512, most_documents=12):
        assert sum(group.lengths) <= 512
        assert len(group.lengths) <= 12
        for length in group.lengths:
            held[length] += group.count
    assert held == counts


@st.composite
def _cases(draw: st.DrawFn) -> tuple[list[int], int]:
    capacity = draw(st.integers(1, 40))
    return draw(st.lists(st.integers(0, capacity) | st.sampled_from((0, 1, capacity)), max_size=40)), capacity


def _loads(bins: Bins) -> list[int]:
    return sorted(sum(held) for held in bins)


@DRAWS
@given(case=_cases())
def test_counting_changes_nothing_but_the_speed(case: tuple[list[int], int]) -> None:
    """Packs are as full as those of the rule applied to one document after another."""
    lengths, capacity = case
    counts = counted(np.array(lengths, dtype=np.int64))
    longest = expanded(longest_pack_first(counts, capacity))
    shortest = expanded(shortest_pack_first(counts, capacity))
    assert _loads(longest) == _loads(naive_longest_pack_first(lengths, capacity))
    assert _loads(shortest) == _loads(naive_shortest_pack_first(lengths, capacity))
    for bins in (longest, shortest):
        assert sorted(length for held in bins for length in held) == sorted(lengths)


@DRAWS
@given(case=_cases(), most=st.integers(1, 5))
def test_no_pack_holds_more_documents_than_allowed(case: tuple[list[int], int], most: int) -> None:
    """The limit of documents per pack holds for both packers, and loses none."""
    lengths, capacity = case
    counts = counted(np.array(lengths, dtype=np.int64))
    for pack in (shortest_pack_first, longest_pack_first):
        bins = expanded(pack(counts, capacity, most_documents=most))
        assert max((len(held) for held in bins), default=0) <= most
        assert sorted(length for held in bins for length in held) == sorted(lengths)


def test_the_drawing_of_the_module_is_what_happens() -> None:
    """Six documents of three lengths in packs of 8 slots."""
    counts = {6: 3, 3: 1, 2: 3}
    assert sorted(expanded(longest_pack_first(counts, 8))) == [(3,), (6, 2), (6, 2), (6, 2)]
    assert sorted(expanded(shortest_pack_first(counts, 8))) == [(3, 2, 2), (6,), (6,), (6, 2)]


def test_documents_that_fit_nowhere_open_a_pack_each() -> None:
    """Shortest pack first looks for room before any of the new packs exist."""
    assert expanded(shortest_pack_first({2: 3}, 8)) == ((2,), (2,), (2,))
    assert sorted(expanded(longest_pack_first({2: 5}, 8))) == [(2,), (2, 2, 2, 2)]


def test_a_length_that_was_counted_0_times_is_in_no_pack() -> None:
    """A histogram has an entry for every length."""
    for pack in (shortest_pack_first, longest_pack_first):
        assert expanded(pack({3: 0, 2: 1, 0: 0}, 8)) == ((2,),)
        assert pack({}, 1) == ()


@pytest.mark.parametrize(
    ("counts", "capacity", "most", "argument", "value"),
    [
        ({3: 1}, 0, None, "capacity", 0),
        ({3: 1}, 8, 0, "most_documents", 0),
        ({9: 1}, 8, None, "counts", 9),
        ({-1: 1}, 8, None, "counts", -1),
        ({3: -2}, 8, None, "counts", -2),
    ],
)
def test_what_cannot_be_packed_is_named(
    counts: dict[int, int], capacity: int, most: int | None, argument: str, value: int
) -> None:
    """The error names the argument and the value."""
    for pack in (shortest_pack_first, longest_pack_first):
        with pytest.raises(PackingError) as raised:
            pack(counts, capacity, most_documents=most)
        assert (raised.value.argument, raised.value.value) == (argument, value)
