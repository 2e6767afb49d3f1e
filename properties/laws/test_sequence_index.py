"""IDX: the segment of each slot, by which recurrent layers reset their state."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import law
from properties.segments import THREE_SEGMENTS, by_segment, segment_of, slots_per_segment, total_slots
from properties.strategies.layouts import (
    layouts,
    layouts_with_zero_length_segments,
    layouts_without_slots,
    multiples,
)
from reference_impl.batches import Layout
from reference_impl.interface import Implementation, Op

NEEDS = {Op.SEQUENCE_INDEX}
TAIL = st.integers(1, 5)


@law(
    "IDX-001",
    needs=NEEDS,
    harm="state-space kernels read behind the array, or reset in the wrong place",
    sources=("I18", "ML-08"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples()), tail=st.integers(0, 5))
def test_every_slot_has_an_index(implementation: Implementation, layout: Layout, tail: int) -> None:
    """There is one index for each of ``total`` slots."""
    total = total_slots(layout) + tail
    same(implementation.sequence_index(layout, total).shape, (total,), "every slot has an index")


@law(
    "IDX-002",
    needs=NEEDS,
    harm="recurrent state is reset in the middle of a document",
    sources=("I18", "MB-23"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples()))
def test_index_is_constant_inside_a_segment(implementation: Implementation, layout: Layout) -> None:
    """All slots of a segment, padding included, have one index."""
    for index in by_segment(layout, implementation.sequence_index(layout, total_slots(layout))):
        same(np.unique(index).size, 1, "a segment has one index")


@law(
    "IDX-003",
    needs=NEEDS,
    harm="recurrent state flows from one document into the next",
    sources=("I18", "MB-23", "AM-02"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples()))
def test_index_grows_by_one_at_every_border(implementation: Implementation, layout: Layout) -> None:
    """The index starts at 0, and grows by 1 at every border between segments and nowhere else."""
    index = implementation.sequence_index(layout, total_slots(layout))
    same(index[:1], np.zeros(1), "the index starts at 0")
    same(np.flatnonzero(np.diff(index)) + 1, layout.padded[1:-1], "the index changes at borders, and only there")
    holds(np.all(np.diff(index) <= 1), "the index skips no segment that has slots", got=index)


@law(
    "IDX-004",
    needs=NEEDS,
    harm="recurrent state is reset at compacted borders instead of real ones",
    sources=("I18", "ML-08", "P-PADDED"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples(), padding="some"))
def test_index_counts_slots_and_not_valid_tokens(implementation: Implementation, layout: Layout) -> None:
    """Each index occurs as often as its segment has slots, however many of them are valid."""
    counts = np.bincount(implementation.sequence_index(layout, total_slots(layout)))
    same(counts, slots_per_segment(layout), "each index occurs once per slot of its segment")


@law(
    "IDX-005",
    needs=NEEDS,
    harm="padding behind the last document changes its state",
    sources=("I18", "MB-23"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=multiples()), tail=TAIL)
def test_slots_behind_the_last_segment_form_one_more(
    implementation: Implementation, layout: Layout, tail: int
) -> None:
    """Slots behind the last boundary have the index n, one more than the last segment's."""
    total = total_slots(layout) + tail
    index = implementation.sequence_index(layout, total)
    same(index[-tail:], np.full(tail, layout.padded.size - 1), "slots behind the last segment form one more")
    same(index[:-tail], segment_of(layout), "the segments in front of them keep their indices")


@law(
    "IDX-006",
    facet="zero-length segments",
    needs=NEEDS,
    harm="indices name other documents than boundaries do",
    sources=("I18", "P-TOTAL"),
)
@given(layout=layouts_with_zero_length_segments(multiple=multiples()))
def test_zero_length_segments_skip_an_index(implementation: Implementation, layout: Layout) -> None:
    """A segment of no slot keeps its number, so that indices go on naming boundaries."""
    index = implementation.sequence_index(layout, total_slots(layout))
    same(index, segment_of(layout), "a segment of no slot skips an index")


@law("IDX-006", facet="no slots", needs=NEEDS, harm="a micro batch without content ends the run", sources=("P-TOTAL",))
@given(layout=layouts_without_slots(), tail=st.integers(0, 5))
def test_stream_without_slots_is_all_tail(implementation: Implementation, layout: Layout, tail: int) -> None:
    """Where segments have no slots, all slots lie behind the last one."""
    index = implementation.sequence_index(layout, tail)
    same(index, np.full(tail, layout.padded.size - 1), "all slots lie behind the last segment")


@law(
    "IDX-007",
    needs=NEEDS,
    harm="a rank gets the indices of the whole stream for its part of it",
    sources=("I18", "ML-08", "B30", "S35"),
)
@given(layout=layouts(multiple=multiples()), missing=st.integers(1, 9))
def test_fewer_slots_than_segments_have_are_refused(
    implementation: Implementation, layout: Layout, missing: int
) -> None:
    """A number of slots below the last boundary is refused, not bent into the boundaries' own."""
    total = max(total_slots(layout) - missing, 0)
    refuses(lambda: implementation.sequence_index(layout, total), "there is a slot for each one of the segments")
