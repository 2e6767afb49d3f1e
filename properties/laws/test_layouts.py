"""LAY: boundaries of padded segments, which slots are padding, and streams laid one after another."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import refuses, same
from properties.law import Activity, law
from properties.segments import (
    THREE_SEGMENTS,
    by_segment,
    is_padding,
    joined,
    layout_of,
    owned_slots,
    pick,
    slots_per_segment,
    total_slots,
    valid_per_segment,
)
from properties.strategies.layouts import (
    layouts,
    layouts_beyond_int32,
    layouts_with_zero_length_segments,
    layouts_without_slots,
    lengths,
    multiples,
    ranks,
    worlds,
)
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op

PAD = {Op.PAD_LAYOUT}
MASK = {Op.PADDING_MASK}
MERGE = {Op.MERGE_LAYOUTS}

_padded = st.shared(st.booleans(), key="whether streams that are merged are padded")
_alike = _padded.flatmap(lambda padded: layouts(multiple=multiples(), padding="any" if padded else "none"))
"""Streams to merge, in half of the examples none of them padded, as targets that know no padding need them."""


def _three_lengths(lengths: IntArray, **_: object) -> bool:
    return lengths.size > 2


THREE_LENGTHS = Activity("three or more segments", _three_lengths, 0.3)


# Padding segments ----------------------------------------------------------------------------------------------------


@law(
    "LAY-001",
    needs=PAD,
    harm="padding passes for tokens, or tokens for padding",
    sources=("I19", "P-PADDED"),
    activity=THREE_LENGTHS,
)
@given(lengths=lengths(), multiple=multiples())
def test_valid_boundaries_keep_the_lengths(implementation: Implementation, lengths: IntArray, multiple: int) -> None:
    """Unpadding gives the lengths back: they are the differences of the valid boundaries."""
    layout = implementation.pad_layout(lengths, multiple)
    same(np.diff(layout.valid), lengths, "valid boundaries keep the lengths")


@law(
    "LAY-002",
    needs=PAD,
    harm="context parallelism cannot cut the segments",
    sources=("I19", "P-PADDED", "MB-44"),
    activity=THREE_LENGTHS,
)
@given(lengths=lengths(), multiple=multiples())
def test_slots_of_every_segment_are_a_multiple(
    implementation: Implementation, lengths: IntArray, multiple: int
) -> None:
    """Every segment, each on its own, has a multiple of ``multiple`` slots."""
    slots = np.diff(implementation.pad_layout(lengths, multiple).padded)
    same(slots % multiple, np.zeros(lengths.shape), "every segment has a multiple of slots")


@law(
    "LAY-003",
    needs=PAD,
    harm="memory and time go to padding that nothing asks for, or tokens have no slot",
    sources=("I19",),
    activity=THREE_LENGTHS,
)
@given(lengths=lengths(), multiple=multiples())
def test_padding_is_minimal(implementation: Implementation, lengths: IntArray, multiple: int) -> None:
    """A segment has at least as many slots as valid tokens, and fewer than ``multiple`` more."""
    slots = np.diff(implementation.pad_layout(lengths, multiple).padded)
    same(slots.shape, lengths.shape, "every length is one segment")
    padding = slots - lengths
    same((padding >= 0) & (padding < multiple), np.full(lengths.shape, True), "padding is below one multiple")


@law(
    "LAY-004",
    needs=PAD,
    harm="attention kernels read from the wrong offset",
    sources=("P-BOUND", "ML-05"),
    activity=THREE_LENGTHS,
)
@given(lengths=lengths(), multiple=multiples())
def test_both_boundaries_start_at_zero(implementation: Implementation, lengths: IntArray, multiple: int) -> None:
    """Both boundary arrays start at 0 and have one entry more than there are segments."""
    layout = implementation.pad_layout(lengths, multiple)
    for boundaries in (layout.valid, layout.padded):
        same(boundaries.shape, (lengths.size + 1,), "there is one boundary more than segments")
        same(boundaries[:1], np.zeros(1), "boundaries start at 0")


@law(
    "LAY-005",
    needs=PAD,
    harm="each pass over the data adds padding",
    sources=("I19", "MB-08"),
    activity=THREE_LENGTHS,
)
@given(lengths=lengths(), multiple=multiples())
def test_padding_twice_adds_nothing(implementation: Implementation, lengths: IntArray, multiple: int) -> None:
    """Segments that are padded already have no padding to add."""
    padded = implementation.pad_layout(lengths, multiple).padded
    again = implementation.pad_layout(np.diff(padded), multiple)
    same(again.padded, padded, "padded segments need no more slots")
    same(again.valid, padded, "padded segments are full")


@law("LAY-006", needs=PAD, harm="documents without tokens take up slots", sources=("I19", "P-TOTAL"))
@given(lengths=lengths(zero=True), multiple=multiples())
def test_documents_without_tokens_take_no_slot(
    implementation: Implementation, lengths: IntArray, multiple: int
) -> None:
    """A segment of no valid token has no slot, and keeps its boundary."""
    layout = implementation.pad_layout(lengths, multiple)
    same(np.diff(layout.padded) == 0, lengths == 0, "exactly the segments without tokens have no slot")
    same(np.diff(layout.valid), lengths, "segments without tokens keep their boundary")


@law(
    "LAY-006", facet="no segments", needs=PAD, harm="a micro batch without content ends the run", sources=("P-TOTAL",)
)
@given(multiple=multiples())
def test_no_segments_have_the_boundary_zero(implementation: Implementation, multiple: int) -> None:
    """The boundaries of no segment are ``[0]``."""
    layout = implementation.pad_layout(np.empty(0, dtype=np.int64), multiple)
    same(layout.padded, np.zeros(1), "slot boundaries of no segment are [0]")
    same(layout.valid, np.zeros(1), "valid boundaries of no segment are [0]")


@law("LAY-007", needs=PAD, harm="long streams get negative boundaries", sources=("TE-05", "P-BOUND"))
@given(layout=layouts_beyond_int32(), multiple=multiples())
def test_boundaries_beyond_32_bits_do_not_overflow(
    implementation: Implementation, layout: Layout, multiple: int
) -> None:
    """Lengths that add up to more than 32 bits keep their sum."""
    slots = [-(-int(length) // multiple) * multiple for length in valid_per_segment(layout)]
    made = implementation.pad_layout(valid_per_segment(layout), multiple)
    same(made.padded, layout_of(slots).padded, "boundaries beyond 32 bits do not overflow")
    same(made.valid, layout.valid, "valid boundaries beyond 32 bits do not overflow")


@law("LAY-008", needs=PAD, harm="a misconfigured multiple divides by zero, or pads nothing", sources=("I19",))
@given(lengths=lengths(), multiple=st.integers(-4, 0))
def test_multiples_below_one_are_refused(implementation: Implementation, lengths: IntArray, multiple: int) -> None:
    """A multiple below 1 is refused."""
    refuses(lambda: implementation.pad_layout(lengths, multiple), "multiples are at least 1, or refused")


@law("LAY-009", needs=PAD, harm="boundaries decrease", sources=("P-BOUND", "I10"))
@given(lengths=lengths(), multiple=multiples(), wrong=st.integers(-20, -1))
def test_negative_lengths_are_refused(
    implementation: Implementation, lengths: IntArray, multiple: int, wrong: int
) -> None:
    """A negative length is refused."""
    refuses(
        lambda: implementation.pad_layout(np.append(lengths, wrong), multiple), "no length is negative, or refused"
    )


# Which slots are padding ---------------------------------------------------------------------------------------------


@law(
    "LAY-010",
    needs=MASK,
    harm="padding is routed to experts and counted in their balance",
    sources=("I20", "MB-29"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples(), padding="some"))
def test_slots_behind_valid_tokens_are_padding(implementation: Implementation, layout: Layout) -> None:
    """A slot is padding exactly where its position is not below the valid tokens of its segment."""
    same(implementation.padding_mask(layout), is_padding(layout), "slots behind valid tokens are padding")


@law(
    "LAY-011",
    needs=MASK,
    harm="padding is counted as tokens, or tokens as padding",
    sources=("I20", "MB-29", "P-STAT"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples()))
def test_padding_of_a_segment_is_its_slots_less_its_tokens(implementation: Implementation, layout: Layout) -> None:
    """Each segment has as many slots of padding as it has slots without a valid token."""
    counts = [int(mask.sum()) for mask in by_segment(layout, implementation.padding_mask(layout))]
    expected = slots_per_segment(layout) - valid_per_segment(layout)
    same(np.array(counts), expected, "a segment's padding is its slots less its tokens")


@law(
    "LAY-012",
    needs=MASK,
    harm="real tokens are not routed to experts",
    sources=("I20",),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples(), padding="none"))
def test_full_segments_have_no_padding(implementation: Implementation, layout: Layout) -> None:
    """Where every slot is valid, no slot is padding."""
    expected = np.zeros(total_slots(layout), dtype=bool)
    same(implementation.padding_mask(layout), expected, "full segments have no padding")


@law(
    "LAY-013",
    facet="zero-length segments",
    needs=MASK,
    harm="filler segments shift the mask",
    sources=("I8", "I20", "P-TOTAL"),
)
@given(layout=layouts_with_zero_length_segments(multiple=multiples()) | layouts_without_slots())
def test_zero_length_segments_have_no_padding(implementation: Implementation, layout: Layout) -> None:
    """Segments of no slot leave the mask of all others as it is."""
    same(implementation.padding_mask(layout), is_padding(layout), "segments of no slot have no padding")


@law(
    "LAY-014",
    needs=MASK | {Op.PARTITION, Op.LOCAL_BOUNDARIES},
    harm="a rank counts other tokens than it holds",
    sources=("I20", "I11", "TE-02"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="inner"), world=worlds(), rank=ranks())
def test_padding_of_a_rank_is_what_its_boundaries_leave(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """The real slots of a rank, by the mask, are as many as its local boundaries say."""
    slots = implementation.partition(layout, world, rank)
    mask = pick(implementation.padding_mask(layout), slots, "a rank owns slots that the mask covers")
    local = implementation.local_boundaries(layout, world, rank)
    same(local[-1:], np.array([np.count_nonzero(~mask)]), "mask and local boundaries agree on a rank's tokens")


@law(
    "LAY-015",
    needs=MASK | {Op.PARTITION},
    harm="a rank takes tokens for padding",
    sources=("I7", "I20"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_padding_mask_is_cut_like_tokens(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """The mask, cut by a rank's own slots, is that of its two chunks of every segment."""
    slots = implementation.partition(layout, world, rank)
    mask = pick(implementation.padding_mask(layout), slots, "a rank owns slots that the mask covers")
    same(mask, is_padding(layout)[owned_slots(layout, world, rank)], "the mask is cut like tokens")


# One after another ---------------------------------------------------------------------------------------------------


@law(
    "LAY-016",
    needs=MERGE,
    harm="documents of neighbouring micro batches become one",
    sources=("I21", "ML-22", "B21"),
)
@given(streams=st.lists(_alike, min_size=2, max_size=3))
def test_merged_streams_keep_every_segment(implementation: Implementation, streams: list[Layout]) -> None:
    """Merging keeps the slots of every segment of every stream, in order."""
    merged = np.diff(implementation.merge_layouts(streams).padded)
    same(merged, slots_per_segment(joined(streams)), "every segment keeps its slots")


@law(
    "LAY-017",
    needs=MERGE,
    harm="padding of one micro batch passes for tokens of the next",
    sources=("I21", "P-PADDED"),
)
@given(streams=st.lists(layouts(multiple=multiples(), padding="some"), min_size=2, max_size=3))
def test_merged_streams_keep_valid_lengths(implementation: Implementation, streams: list[Layout]) -> None:
    """Merging keeps the valid tokens of every segment of every stream, in order."""
    merged = np.diff(implementation.merge_layouts(streams).valid)
    same(merged, valid_per_segment(joined(streams)), "every segment keeps its valid tokens")


@law(
    "LAY-018",
    needs=MERGE,
    harm="a document reaches from one micro batch into the next",
    sources=("I21", "B21"),
)
@given(streams=st.lists(_alike, min_size=2, max_size=3))
def test_ends_of_streams_are_borders(implementation: Implementation, streams: list[Layout]) -> None:
    """Where a stream ends, a segment ends; the last boundary is the slots of all streams."""
    ends = np.cumsum([total_slots(stream) for stream in streams])
    padded = implementation.merge_layouts(streams).padded
    same(np.isin(ends, padded), np.full(ends.shape, True), "a segment ends where a stream ends")
    same(padded[-1:], ends[-1:], "the last boundary is the slots of all streams")


@law("LAY-019", needs=MERGE, harm="micro batches of one row are changed", sources=("I21",), activity=THREE_SEGMENTS)
@given(layout=layouts(multiple=multiples()))
def test_single_stream_is_merged_into_itself(implementation: Implementation, layout: Layout) -> None:
    """Merging a single stream changes nothing."""
    merged = implementation.merge_layouts([layout])
    same(merged.padded, layout.padded, "slot boundaries stay as they are")
    same(merged.valid, layout.valid, "valid boundaries stay as they are")


@law(
    "LAY-020",
    needs=MERGE,
    harm="the result depends on how a batch was split",
    sources=("I21", "I9"),
    activity=THREE_SEGMENTS,
)
@given(layout=_alike, second=_alike, third=_alike)
def test_merging_is_associative(implementation: Implementation, layout: Layout, second: Layout, third: Layout) -> None:
    """Merging two streams and then a third is merging all three."""
    merged = implementation.merge_layouts([implementation.merge_layouts([layout, second]), third])
    expected = implementation.merge_layouts([layout, second, third])
    same(merged.padded, expected.padded, "slot boundaries do not depend on the order of merging")
    same(merged.valid, expected.valid, "valid boundaries do not depend on the order of merging")


@law("LAY-021", needs=MERGE, harm="the filler of a static shape moves documents", sources=("I21", "I8", "ML-22"))
@given(layout=layouts_with_zero_length_segments(multiple=multiples()), other=layouts(multiple=multiples()))
def test_zero_length_segments_move_no_border(implementation: Implementation, layout: Layout, other: Layout) -> None:
    """Segments of no slot leave the borders of merged streams where they are; whether they are kept is left open."""
    merged = implementation.merge_layouts([layout, other])
    same(np.unique(merged.padded), np.unique(joined([layout, other]).padded), "borders stay where they are")
    same(merged.valid.shape, merged.padded.shape, "both boundary arrays have an entry for every segment that is kept")


@law("LAY-022", needs=MERGE, harm="long streams get negative boundaries", sources=("I21", "TE-05"))
@given(layout=layouts_beyond_int32(), other=layouts_beyond_int32())
def test_merged_boundaries_do_not_overflow(implementation: Implementation, layout: Layout, other: Layout) -> None:
    """Boundaries beyond 32 bits are merged like any others."""
    merged = implementation.merge_layouts([layout, other])
    same(merged.padded, joined([layout, other]).padded, "boundaries beyond 32 bits do not overflow")
    same(merged.valid, joined([layout, other]).valid, "valid boundaries beyond 32 bits do not overflow")
