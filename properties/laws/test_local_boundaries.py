"""CPX: how many valid tokens of each segment one rank of context parallelism owns."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import given

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.segments import (
    THREE_SEGMENTS,
    cumulative,
    slots_per_segment,
    valid_on_rank,
    valid_per_segment,
)
from properties.strategies.layouts import (
    layouts,
    layouts_beyond_int32,
    layouts_with_zero_length_segments,
    layouts_without_slots,
    ranks,
    undivisible_layouts,
    worlds,
)
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op

NEEDS = {Op.LOCAL_BOUNDARIES}
SPLIT = worlds(at_least=2)


def _unequal(layout: Layout, **_: object) -> bool:
    return not np.all(_shared_equally(layout))


UNEQUAL = Activity("valid lengths that ranks cannot share equally", _unequal, 0.3)


def _shared_equally(layout: Layout) -> IntArray:
    """Which segments are empty, full or exactly half full (n,), so that all ranks own equally many valid tokens."""
    slots, valid = slots_per_segment(layout), valid_per_segment(layout)
    return (valid == 0) | (valid == slots) | (2 * valid == slots)


def _per_segment(implementation: Implementation, layout: Layout, world: int) -> IntArray:
    """Valid tokens of each segment by rank (W, n).

    Raises:
        Broken: a rank does not have one boundary per segment and one more.
    """
    boundaries = [implementation.local_boundaries(layout, world, rank) for rank in range(world)]
    for local in boundaries:
        same(local.shape, layout.valid.shape, "a rank has one boundary per segment and one more")
    return np.diff(np.stack(boundaries))


# Counts --------------------------------------------------------------------------------------------------------------


@law(
    "CPX-026",
    needs=NEEDS,
    harm="attention reads padding as keys and drops real ones",
    sources=("I11", "TE-02", "TE-03"),
    activity=UNEQUAL,
)
@given(layout=layouts(padding="inner"), world=worlds(), rank=ranks())
def test_local_boundaries_count_the_valid_tokens_of_a_rank(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Local boundaries accumulate the valid tokens in the slots that a rank owns, segment by segment."""
    expected = cumulative(valid_on_rank(layout, world, rank))
    same(implementation.local_boundaries(layout, world, rank), expected, "local boundaries count valid tokens")


@law(
    "CPX-026",
    facet="only the last segment is padded",
    needs=NEEDS,
    harm="attention drops real keys at the end of the stream, differently in each run",
    sources=("I11", "TE-02"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="tail"), world=worlds(), rank=ranks())
def test_local_boundaries_see_padding_behind_the_last_segment(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Padding at the very end of the stream counts like any other."""
    expected = cumulative(valid_on_rank(layout, world, rank))
    same(implementation.local_boundaries(layout, world, rank), expected, "local boundaries count valid tokens")


@law(
    "CPX-026",
    facet="zero-length segments",
    needs=NEEDS,
    harm="filler segments of a static shape end the run",
    sources=("I11", "I8", "P-TOTAL"),
)
@given(
    layout=layouts_with_zero_length_segments(padding="none") | layouts_without_slots(),
    world=worlds(),
    rank=ranks(),
)
def test_local_boundaries_repeat_for_zero_length_segments(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """A segment of no slot has no token on any rank, and its boundary repeats the one before."""
    expected = cumulative(valid_on_rank(layout, world, rank))
    same(implementation.local_boundaries(layout, world, rank), expected, "segments of no slot repeat a boundary")


@law(
    "CPX-026",
    facet="boundaries beyond 32 bits",
    needs=NEEDS,
    harm="long streams get negative boundaries",
    sources=("I11", "TE-05"),
)
@given(layout=layouts_beyond_int32(), world=worlds())
def test_local_boundaries_do_not_overflow(implementation: Implementation, layout: Layout, world: int) -> None:
    """Also beyond 32 bits, the valid tokens of all ranks add up to those of the segments."""
    counts = _per_segment(implementation, layout, world)
    same(counts.sum(axis=0), valid_per_segment(layout), "valid tokens of all ranks add up")


@law(
    "CPX-027",
    needs=NEEDS,
    harm="keys are attended to twice, or by no rank",
    sources=("I11", "TE-03"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="inner"), world=worlds())
def test_valid_tokens_of_all_ranks_add_up(implementation: Implementation, layout: Layout, world: int) -> None:
    """Over all ranks, the valid tokens of every segment add up to all of them."""
    counts = _per_segment(implementation, layout, world)
    same(counts.sum(axis=0), valid_per_segment(layout), "valid tokens of all ranks add up")


@law(
    "CPX-028",
    needs=NEEDS,
    harm="dividing the boundaries by the CP size passes for counting",
    sources=("I11", "TE-03"),
    activity=UNEQUAL,
)
@given(layout=layouts(world=SPLIT, padding="inner"), world=SPLIT)
def test_ranks_share_valid_tokens_equally_only_where_they_can(
    implementation: Implementation, layout: Layout, world: int
) -> None:
    """All ranks own equally many valid tokens of a segment if, and only if, it is empty, full or exactly half full."""
    counts = _per_segment(implementation, layout, world)
    same(np.ptp(counts, axis=0) == 0, _shared_equally(layout), "segments that all ranks share equally")


@law(
    "CPX-029",
    needs=NEEDS,
    harm="attention over unpadded streams drops keys",
    sources=("I11",),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="none"), world=worlds(), rank=ranks())
def test_local_boundaries_of_full_segments_are_divided(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Where nothing is padded, local boundaries are the global ones divided by W, the same for all ranks."""
    same(implementation.local_boundaries(layout, world, rank), layout.padded // world, "each rank owns 1 / W")


@law("CPX-030", needs=NEEDS, harm="the kernel refuses the boundaries", sources=("P-BOUND", "I11"))
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_local_boundaries_are_boundaries(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Local boundaries start at 0, do not decrease, and never exceed the slots that a rank owns."""
    local = implementation.local_boundaries(layout, world, rank)
    same(local.shape, layout.valid.shape, "a rank has one boundary per segment and one more")
    same(local[:1], np.zeros(1), "local boundaries start at 0")
    holds(np.all(np.diff(local) >= 0), "local boundaries do not decrease", got=local)
    holds(np.all(local <= layout.padded // world), "a rank has no more valid tokens than slots", got=local)


@law("CPX-031", needs=NEEDS, harm="boundaries of another cut than the tokens' are used", sources=("I10", "I11"))
@given(layout=undivisible_layouts("no multiple of W", SPLIT), world=SPLIT, rank=ranks(SPLIT))
def test_local_boundaries_of_undivisible_segments_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Segments that cannot be cut into 2W equal chunks have no local boundaries."""
    local = partial(implementation.local_boundaries, layout, world, rank)
    refuses(local, "every segment has 2W equal chunks, or is refused")
