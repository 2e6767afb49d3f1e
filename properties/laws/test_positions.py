"""POS: the position of each slot inside its segment."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from properties.claims import same
from properties.law import law
from properties.segments import (
    THREE_SEGMENTS,
    by_segment,
    joined,
    owned_slots,
    pick,
    position_of,
    slots_per_segment,
    total_slots,
)
from properties.strategies.layouts import (
    layouts,
    layouts_with_zero_length_segments,
    layouts_without_slots,
    multiples,
    ranks,
    worlds,
)
from reference_impl.batches import Layout
from reference_impl.interface import Implementation, Op

NEEDS = {Op.POSITION_IDS}
ANY = multiples()


@law(
    "POS-001",
    needs=NEEDS,
    harm="later documents are rotated as if they continued the first",
    sources=("P-POS", "I12", "TE-06", "LF-01", "OR-01", "MB-35"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=ANY))
def test_positions_restart_in_every_segment(implementation: Implementation, layout: Layout) -> None:
    """The first slot of every segment has position 0."""
    first = pick(implementation.position_ids(layout), layout.padded[:-1], "every segment has positions")
    same(first, np.zeros(first.shape), "positions restart at 0 in every segment")


@law(
    "POS-002",
    needs=NEEDS,
    harm="distances between tokens are wrong, in attention that sees only them",
    sources=("P-POS", "I12"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=ANY))
def test_positions_count_on_inside_a_segment(implementation: Implementation, layout: Layout) -> None:
    """Inside a segment, each slot's position is the one before plus 1, in padding too."""
    for positions in by_segment(layout, implementation.position_ids(layout)):
        same(np.diff(positions), np.ones(positions.size - 1), "positions count on inside a segment")


@law(
    "POS-003",
    needs=NEEDS,
    harm="positions and tokens cannot be laid side by side",
    sources=("P-POS", "TE-01", "TR-03"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=ANY))
def test_every_slot_has_a_position(implementation: Implementation, layout: Layout) -> None:
    """There is one position per slot, padding included."""
    same(implementation.position_ids(layout).shape, (total_slots(layout),), "every slot has a position")


@law(
    "POS-004",
    needs=NEEDS,
    harm="rotary tables are read beyond their end",
    sources=("P-POS", "P-MAXSEQ", "VL-02"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=ANY))
def test_positions_stay_below_the_longest_segment(implementation: Implementation, layout: Layout) -> None:
    """The largest position is the slots of the longest segment, less 1."""
    largest = implementation.position_ids(layout).max(initial=-1)
    same(largest, slots_per_segment(layout).max() - 1, "the largest position ends the longest segment")


@law(
    "POS-005",
    needs=NEEDS,
    harm="kernels that find documents by position 0 see each slot of padding as one",
    sources=("P-POS", "TR-03", "HF-01"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=ANY))
def test_there_are_as_many_restarts_as_segments(implementation: Implementation, layout: Layout) -> None:
    """Position 0 occurs once per segment, so that segments can be found by it."""
    restarts = np.flatnonzero(implementation.position_ids(layout) == 0)
    same(restarts, layout.padded[:-1], "position 0 is where a segment starts, and nowhere else")


@law(
    "POS-006",
    needs=NEEDS,
    harm="from the second document on, tokens are rotated by the wrong angle",
    sources=("P-POS", "ML-19", "TE-01"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=ANY, padding="some"))
def test_valid_lengths_do_not_change_positions(implementation: Implementation, layout: Layout) -> None:
    """Positions follow the slots; how many of them are valid does not matter."""
    full = Layout(valid=layout.padded, padded=layout.padded)
    same(implementation.position_ids(layout), implementation.position_ids(full), "positions follow the slots")


@law(
    "POS-007",
    needs=NEEDS,
    harm="a document has other positions when it has other neighbours",
    sources=("P-POS", "P-EQUIV", "I9"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(multiple=ANY), other=layouts(multiple=ANY))
def test_positions_of_streams_are_independent(implementation: Implementation, layout: Layout, other: Layout) -> None:
    """The positions of two streams one after another are those of each alone."""
    alone = [implementation.position_ids(layout), implementation.position_ids(other)]
    same(implementation.position_ids(joined([layout, other])), np.concatenate(alone), "streams do not share positions")


@law(
    "POS-008",
    facet="zero-length segments",
    needs=NEEDS,
    harm="documents without tokens shift those behind them",
    sources=("I8", "P-TOTAL"),
)
@given(layout=layouts_with_zero_length_segments(multiple=ANY))
def test_zero_length_segments_have_no_position(implementation: Implementation, layout: Layout) -> None:
    """Segments of no slot leave the positions of all others as they are."""
    same(implementation.position_ids(layout), position_of(layout), "segments of no slot have no position")


@law("POS-008", facet="no slots", needs=NEEDS, harm="a micro batch without content ends the run", sources=("P-TOTAL",))
@given(layout=layouts_without_slots())
def test_stream_without_slots_has_no_position(implementation: Implementation, layout: Layout) -> None:
    """A stream without slots has no position."""
    same(implementation.position_ids(layout).size, 0, "there is no slot, and no position")


@law(
    "POS-009",
    needs=NEEDS | {Op.PARTITION},
    harm="tokens are rotated to other places than attention expects them at",
    sources=("I12", "P-POS", "P-CPPART"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_positions_of_a_rank_are_those_of_its_slots(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Positions cut by a rank's own slots are those of its two chunks of every segment."""
    slots = implementation.partition(layout, world, rank)
    local = pick(implementation.position_ids(layout), slots, "a rank owns slots that have positions")
    same(local, position_of(layout)[owned_slots(layout, world, rank)], "a rank rotates by global positions")
