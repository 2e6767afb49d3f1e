"""MTP: values shifted inside segments, for prediction of several tokens ahead."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import refuses, same
from properties.law import Activity, law
from properties.segments import (
    THREE_SEGMENTS,
    is_padding,
    owned_slots,
    position_of,
    segment_of,
    slots_per_segment,
    total_slots,
    valid_per_segment,
    with_zero_length_segments,
)
from properties.strategies.batches import stream_of
from properties.strategies.layouts import (
    layouts,
    layouts_with_zero_length_segments,
    layouts_without_slots,
    ranks,
    undivisible_layouts,
    worlds,
)
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import Borders

NEEDS = {Op.ROLL}
SPLIT = worlds(at_least=2)
DEPTHS = st.integers(1, 3)
BORDERS = st.sampled_from(Borders)


def _a_single_pair(layout: Layout, world: int, **_: object) -> bool:
    return bool((slots_per_segment(layout) == 2 * world).any())


SHORTEST = Activity("a segment of one slot per chunk", _a_single_pair, 0.3)


def _shifted(layout: Layout, depth: int, borders: Borders) -> IntArray:
    """Tokens of the stream ``depth`` slots further on in the same segment, or 0 (T,); worked out slot by slot."""
    tokens = stream_of(layout).tokens
    ends = valid_per_segment(layout) if borders == Borders.VALID else slots_per_segment(layout)
    inside = position_of(layout) + depth < ends[segment_of(layout)]
    return np.where(inside, np.roll(tokens, -depth), 0)


def _gives_each_rank_its_part(
    implementation: Implementation, layout: Layout, world: int, depth: int, borders: Borders
) -> None:
    parts = implementation.roll(stream_of(layout).tokens, layout, world, depth, borders)
    same(len(parts), world, "every rank has a part")
    expected = _shifted(layout, depth, borders)
    for rank, part in enumerate(parts):
        same(part, expected[owned_slots(layout, world, rank)], "a rank gets the successors of its slots")


@law(
    "MTP-001",
    facet="padded borders",
    needs=NEEDS,
    harm="the model learns to predict tokens of the next document",
    sources=("I17", "ML-09", "B18"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="none") | layouts(), world=worlds())
def test_successors_are_those_of_the_same_segment(implementation: Implementation, layout: Layout, world: int) -> None:
    """Every rank gets the successor of each of its slots in the same segment, and 0 for a segment's last slot."""
    _gives_each_rank_its_part(implementation, layout, world, 1, Borders.PADDED)


@law(
    "MTP-001",
    facet="valid borders",
    needs=NEEDS,
    harm="the model learns to predict padding",
    sources=("I17", "ML-09", "ML-13", "P-ALIGN"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="some"), world=worlds())
def test_last_valid_token_has_no_successor(implementation: Implementation, layout: Layout, world: int) -> None:
    """With valid borders, padding is no successor: a segment's last valid token and its padding get 0."""
    _gives_each_rank_its_part(implementation, layout, world, 1, Borders.VALID)


@law(
    "MTP-002",
    needs=NEEDS,
    harm="deeper prediction heads learn the targets of shallower ones",
    sources=("I17",),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), depth=st.integers(2, 4), borders=BORDERS)
def test_depth_is_a_number_of_slots(
    implementation: Implementation, layout: Layout, world: int, depth: int, borders: Borders
) -> None:
    """At depth d, values come from d slots further on in the same segment, or are 0."""
    _gives_each_rank_its_part(implementation, layout, world, depth, borders)


@law(
    "MTP-003",
    needs=NEEDS,
    harm="prediction depths disagree with each other",
    sources=("I17",),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), depth=DEPTHS, borders=BORDERS)
def test_depths_add_up(implementation: Implementation, layout: Layout, depth: int, borders: Borders) -> None:
    """Shifting by one, time and again, is shifting by the number of times."""
    values = stream_of(layout).tokens
    for _ in range(depth):
        values = implementation.roll(values, layout, 1, 1, borders)[0]
    at_once = implementation.roll(stream_of(layout).tokens, layout, 1, depth, borders)[0]
    same(values, at_once, "depths add up")


@law(
    "MTP-004",
    needs=NEEDS,
    harm="training depends on the CP size",
    sources=("I17", "P-CPPART"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), depth=DEPTHS, borders=BORDERS)
def test_ranks_together_have_what_one_rank_has(
    implementation: Implementation, layout: Layout, world: int, depth: int, borders: Borders
) -> None:
    """The parts of all ranks, put together, are what a single rank gets; so their sums add up too."""
    tokens = stream_of(layout).tokens
    parts = implementation.roll(tokens, layout, world, depth, borders)
    whole = np.zeros(total_slots(layout), dtype=np.int64)
    for rank, part in enumerate(parts):
        same(part.shape, (total_slots(layout) // world,), "a rank has a value for each of its slots")
        whole[owned_slots(layout, world, rank)] = part
    same(whole, implementation.roll(tokens, layout, 1, depth, borders)[0], "ranks together have what one rank has")


@law(
    "MTP-005",
    facet="zero-length segments",
    needs=NEEDS,
    harm="filler segments of a static shape end the run",
    sources=("I8", "I17", "ML-10", "P-TOTAL"),
)
@given(layout=layouts_with_zero_length_segments() | layouts_without_slots(), world=worlds(), borders=BORDERS)
def test_segments_without_slots_shift_nothing(
    implementation: Implementation, layout: Layout, world: int, borders: Borders
) -> None:
    """Segments of no slot, anywhere, change nothing."""
    _gives_each_rank_its_part(implementation, layout, world, 1, borders)
    doubled = with_zero_length_segments(layout, [0, layout.padded.size - 1], 1)
    _gives_each_rank_its_part(implementation, doubled, world, 1, borders)


@law(
    "MTP-005",
    facet="one slot per chunk",
    needs=NEEDS,
    harm="short documents end the run",
    sources=("I17", "B18", "ML-10", "P-TOTAL"),
    activity=SHORTEST,
)
@given(layout=layouts(padding="none", segments=(2, 6)), world=worlds(), depth=DEPTHS)
def test_chunks_of_one_slot_get_their_successors_from_other_ranks(
    implementation: Implementation, layout: Layout, world: int, depth: int
) -> None:
    """Where a chunk has a single slot, its successor is another rank's, and arrives."""
    _gives_each_rank_its_part(implementation, layout, world, depth, Borders.PADDED)


@law(
    "MTP-006",
    needs=NEEDS,
    harm="labels that the step derives differ from those of the data set",
    sources=("I17", "ML-13", "P-SHIFT", "P-ALIGN"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_labels_shifted_before_the_cut_are_those_shifted_after_it(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Labels of the whole stream, cut for a rank, are the shifted values, except at the last slot of each segment."""
    tokens = stream_of(layout).tokens
    slots = owned_slots(layout, world, rank)
    inner = (position_of(layout) + 1 < slots_per_segment(layout)[segment_of(layout)])[slots]
    parts = implementation.roll(tokens, layout, world, 1, Borders.PADDED)
    same([part.size for part in parts], [slots.size] * world, "a rank has a value for each of its slots")
    part = parts[rank]
    same(part[inner], np.roll(tokens, -1)[slots][inner], "labels are the same but for a segment's last slot")


@law(
    "MTP-007",
    needs=NEEDS,
    harm="prediction heads are trained on more tokens than the model",
    sources=("I17", "MB-47", "ML-11", "P-MASK"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="some"), world=worlds(), depth=DEPTHS)
def test_a_mask_loses_a_target_per_depth_and_document(
    implementation: Implementation, layout: Layout, world: int, depth: int
) -> None:
    """A mask of valid tokens, shifted, keeps V - d targets of a document of V tokens, or none, over all ranks."""
    mask = (~is_padding(layout)).astype(np.int64)
    parts = implementation.roll(mask, layout, world, depth, Borders.VALID)
    expected = np.maximum(valid_per_segment(layout) - depth, 0).sum()
    same(sum(int(part.sum()) for part in parts), int(expected), "each depth costs each document one target")


@law("MTP-008", facet="undivisible", needs=NEEDS, harm="values of other ranks are misplaced", sources=("I10", "I17"))
@given(layout=undivisible_layouts("no multiple of W", SPLIT), world=SPLIT, borders=BORDERS)
def test_undivisible_segments_are_not_shifted(
    implementation: Implementation, layout: Layout, world: int, borders: Borders
) -> None:
    """Segments that cannot be cut into 2W equal chunks are refused."""
    tokens = stream_of(layout).tokens
    refuses(lambda: implementation.roll(tokens, layout, world, 1, borders), "segments have 2W chunks, or are refused")


@law("MTP-008", facet="another length", needs=NEEDS, harm="values of another stream are used", sources=("I10", "I17"))
@given(layout=layouts(), world=worlds(), more=st.integers(1, 9))
def test_values_of_another_length_are_refused(
    implementation: Implementation, layout: Layout, world: int, more: int
) -> None:
    """Values that are not one per slot are refused."""
    values = np.zeros(total_slots(layout) + more, dtype=np.int64)
    refuses(lambda: implementation.roll(values, layout, world, 1, Borders.PADDED), "there is one value per slot")
