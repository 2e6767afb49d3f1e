"""CPX: which slots of a packed stream each rank of context parallelism owns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import law
from properties.segments import (
    THREE_SEGMENTS,
    joined,
    owned_slots,
    pick,
    position_of,
    segment_of,
    slots_per_segment,
    total_slots,
    with_zero_length_segments,
)
from properties.strategies.layouts import (
    decreasing_layouts,
    layouts,
    layouts_not_from_zero,
    layouts_with_zero_length_segments,
    layouts_without_slots,
    multiples,
    ranks,
    undivisible_layouts,
    worlds,
)
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op

NEEDS = {Op.PARTITION}
SPLIT = worlds(at_least=2)


def _of_all_ranks(implementation: Implementation, layout: Layout, world: int) -> IntArray:
    """Slots of rank 0, of rank 1 and so on (T,)."""
    return np.concatenate([implementation.partition(layout, world, rank) for rank in range(world)])


def _owns_every_slot_once(implementation: Implementation, layout: Layout, world: int) -> None:
    slots = np.sort(_of_all_ranks(implementation, layout, world))
    same(slots, np.arange(total_slots(layout)), "over all ranks, every slot is owned exactly once")


def _segments_of(layout: Layout, slots: IntArray) -> IntArray:
    return pick(segment_of(layout), slots, "a rank owns slots of the stream")


# A partition ---------------------------------------------------------------------------------------------------------


@law(
    "CPX-001",
    needs=NEEDS,
    harm="tokens are lost, or trained twice",
    sources=("I1", "P-CPPART"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds())
def test_every_slot_is_owned_by_one_rank(implementation: Implementation, layout: Layout, world: int) -> None:
    """Over all ranks, every slot of the stream is owned exactly once."""
    _owns_every_slot_once(implementation, layout, world)


@law(
    "CPX-001",
    facet="zero-length segments",
    needs=NEEDS,
    harm="filler segments of a static shape lose tokens or end the run",
    sources=("I1", "ML-10", "P-TOTAL"),
)
@given(layout=layouts_with_zero_length_segments(), world=worlds())
def test_every_slot_is_owned_by_one_rank_beside_zero_length_segments(
    implementation: Implementation, layout: Layout, world: int
) -> None:
    """Segments of no slot, anywhere, leave every slot with exactly one rank."""
    _owns_every_slot_once(implementation, layout, world)


@law(
    "CPX-001",
    facet="no slots",
    needs=NEEDS,
    harm="a micro batch without content ends the run",
    sources=("I1", "P-TOTAL"),
)
@given(layout=layouts_without_slots(), world=worlds())
def test_stream_without_slots_gives_every_rank_nothing(
    implementation: Implementation, layout: Layout, world: int
) -> None:
    """Of a stream without slots, every rank owns nothing."""
    _owns_every_slot_once(implementation, layout, world)


@law(
    "CPX-002",
    needs=NEEDS,
    harm="ranks hang in communication of different sizes",
    sources=("I1", "P-CPPART"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_ranks_own_equally_many_slots(implementation: Implementation, layout: Layout, world: int, rank: int) -> None:
    """Every rank owns T / W slots."""
    slots = implementation.partition(layout, world, rank)
    same(slots.size, total_slots(layout) // world, "a rank owns its share of the slots")


@law(
    "CPX-003",
    needs=NEEDS,
    harm="attention kernels take tokens of one document for those of another",
    sources=("I2", "P-CPPART"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_ranks_own_an_equal_part_of_every_segment(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Every rank owns P / W slots of every segment."""
    segments = _segments_of(layout, implementation.partition(layout, world, rank))
    counts = np.bincount(segments, minlength=layout.padded.size - 1)
    same(counts, slots_per_segment(layout) // world, "a rank owns its share of every segment")


@law(
    "CPX-004",
    needs=NEEDS,
    harm="attention and rotary kernels read local tokens in another order than they are in",
    sources=("I2",),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_slots_of_a_rank_ascend(implementation: Implementation, layout: Layout, world: int, rank: int) -> None:
    """The slots of a rank are strictly ascending, so that segments and positions keep their order."""
    slots = implementation.partition(layout, world, rank)
    holds(np.all(np.diff(slots) > 0), "the slots of a rank ascend", got=slots)


# The zigzag ----------------------------------------------------------------------------------------------------------


@law(
    "CPX-005",
    needs=NEEDS,
    harm="attention kernels take local tokens for others than they are",
    sources=("I3", "P-CPPART", "MB-02"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_ranks_own_two_mirrored_chunks_of_every_segment(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Of the 2W equal chunks of every segment, rank r owns chunks r and 2W - 1 - r."""
    expected = owned_slots(layout, world, rank)
    same(implementation.partition(layout, world, rank), expected, "a rank owns chunks r and 2W - 1 - r")


@law(
    "CPX-006",
    needs=NEEDS,
    harm="ring attention computes the wrong half of a segment",
    sources=("I4",),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_chunks_of_a_rank_mirror_each_other(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """In every segment, the k-th slot of a rank from the front and the k-th from the end add up to P - 1."""
    slots = implementation.partition(layout, world, rank)
    segments = _segments_of(layout, slots)
    positions = position_of(layout)[slots]
    for segment, length in enumerate(slots_per_segment(layout)):
        own = positions[segments == segment]
        same(own + own[::-1], np.full(own.shape, length - 1), "the two chunks of a rank mirror each other")


@law(
    "CPX-007",
    needs=NEEDS,
    harm="some ranks wait for others in every layer",
    sources=("I5",),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_ranks_share_the_work_of_causal_attention(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """In every segment, the keys that a rank's queries see number P (P + 1) / 2W, the same for all ranks."""
    slots = implementation.partition(layout, world, rank)
    segments = _segments_of(layout, slots)
    visible = np.bincount(segments, weights=position_of(layout)[slots] + 1, minlength=layout.padded.size - 1)
    lengths = slots_per_segment(layout)
    same(visible, lengths * (lengths + 1) / (2 * world), "all ranks do the same work in every segment")


# Metamorphic ---------------------------------------------------------------------------------------------------------


@law("CPX-008", needs=NEEDS, harm="runs without context parallelism lose tokens", sources=("I7",))
@given(layout=layouts(multiple=multiples()))
def test_single_rank_owns_everything(implementation: Implementation, layout: Layout) -> None:
    """With one rank, that rank owns all slots in order, whatever the lengths of the segments."""
    same(implementation.partition(layout, 1, 0), np.arange(total_slots(layout)), "a single rank owns every slot")


def _ignores_zero_length_segments(
    implementation: Implementation, layout: Layout, world: int, rank: int, borders: list[int], times: int
) -> None:
    same(
        implementation.partition(with_zero_length_segments(layout, borders, times), world, rank),
        implementation.partition(layout, world, rank),
        "segments of no slot change nothing",
    )


@law(
    "CPX-009",
    facet="leading",
    needs=NEEDS,
    harm="filler segments shift every document",
    sources=("I8", "P-TOTAL"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks(), times=st.integers(1, 2))
def test_leading_zero_length_segments_change_nothing(
    implementation: Implementation, layout: Layout, world: int, rank: int, times: int
) -> None:
    """Segments of no slot in front of all others change nothing."""
    _ignores_zero_length_segments(implementation, layout, world, rank, [0], times)


@law(
    "CPX-009",
    facet="inner",
    needs=NEEDS,
    harm="documents without tokens shift those behind them",
    sources=("I8", "ML-10", "P-TOTAL"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(segments=(2, 6)), world=worlds(), rank=ranks(), times=st.integers(1, 2))
def test_inner_zero_length_segments_change_nothing(
    implementation: Implementation, layout: Layout, world: int, rank: int, times: int
) -> None:
    """Segments of no slot between any two others change nothing."""
    inner = list(range(1, layout.padded.size - 1))
    _ignores_zero_length_segments(implementation, layout, world, rank, inner, times)


@law(
    "CPX-009",
    facet="trailing",
    needs=NEEDS,
    harm="the filler of a static shape changes the last document",
    sources=("I8", "P-SHAPE", "P-TOTAL"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks(), times=st.integers(1, 2))
def test_trailing_zero_length_segments_change_nothing(
    implementation: Implementation, layout: Layout, world: int, rank: int, times: int
) -> None:
    """Segments of no slot behind all others change nothing."""
    _ignores_zero_length_segments(implementation, layout, world, rank, [layout.padded.size - 1], times)


@law(
    "CPX-010",
    needs=NEEDS,
    harm="a document is cut in another way when it has other neighbours",
    sources=("I9", "P-EQUIV"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), other=layouts(), world=worlds(), rank=ranks())
def test_streams_are_cut_independently(
    implementation: Implementation, layout: Layout, other: Layout, world: int, rank: int
) -> None:
    """The slots of two streams one after another are those of the first, then those of the second, shifted."""
    both = implementation.partition(joined([layout, other]), world, rank)
    shifted = implementation.partition(other, world, rank) + total_slots(layout)
    expected = np.concatenate([implementation.partition(layout, world, rank), shifted])
    same(both, expected, "each stream is cut as if it were alone")


@law(
    "CPX-011",
    needs=NEEDS,
    harm="padding that a kernel does not see decides where tokens go",
    sources=("I9", "P-CPPART"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="some"), world=worlds(), rank=ranks())
def test_only_slots_decide_who_owns_what(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """How many tokens of a segment are valid does not matter to who owns its slots."""
    full = Layout(valid=layout.padded, padded=layout.padded)
    same(
        implementation.partition(layout, world, rank),
        implementation.partition(full, world, rank),
        "valid lengths do not matter",
    )


# What must be refused ------------------------------------------------------------------------------------------------


@law(
    "CPX-012",
    facet="no multiple of W",
    needs=NEEDS,
    harm="tokens are lost and others are trained twice, without a word",
    sources=("I10", "B1", "B11"),
)
@given(layout=undivisible_layouts("no multiple of W", SPLIT), world=SPLIT, rank=ranks(SPLIT))
def test_undivisible_segments_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """A segment whose slots are not divisible by W is refused, also where it is shorter than W."""
    refuses(lambda: implementation.partition(layout, world, rank), "every segment has 2W equal chunks, or is refused")


@law(
    "CPX-012",
    facet="odd multiple of W",
    needs=NEEDS,
    harm="tokens are lost and others are trained twice, without a word",
    sources=("I10", "B1", "B20"),
)
@given(layout=undivisible_layouts("odd multiple of W", SPLIT), world=SPLIT, rank=ranks(SPLIT))
def test_segments_of_an_odd_multiple_of_the_world_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """A segment whose slots are divisible by W, but not by 2W, is refused."""
    refuses(lambda: implementation.partition(layout, world, rank), "every segment has 2W equal chunks, or is refused")


@law(
    "CPX-012",
    facet="only the total is divisible",
    needs=NEEDS,
    harm="documents are mixed, though every rank gets its number of tokens",
    sources=("I10", "B1"),
)
@given(layout=undivisible_layouts("only the total is divisible", SPLIT), world=SPLIT, rank=ranks(SPLIT))
def test_segments_are_refused_though_their_total_is_divisible(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Segments that are not divisible by 2W are refused, also where their total is."""
    refuses(lambda: implementation.partition(layout, world, rank), "every segment has 2W equal chunks, or is refused")


@law("CPX-013", needs=NEEDS, harm="a misconfigured rank trains on slots outside of the stream", sources=("I10",))
@given(layout=layouts(), world=worlds(), beyond=st.integers(0, 3))
def test_ranks_beyond_the_world_are_refused(
    implementation: Implementation, layout: Layout, world: int, beyond: int
) -> None:
    """A rank that is not below the number of ranks is refused."""
    refuses(lambda: implementation.partition(layout, world, world + beyond), "ranks are below W, or refused")


@law("CPX-013", facet="negative", needs=NEEDS, harm="a process outside of the group trains", sources=("I10",))
@given(layout=layouts(), world=worlds(), rank=st.integers(-3, -1))
def test_negative_ranks_are_refused(implementation: Implementation, layout: Layout, world: int, rank: int) -> None:
    """A negative rank, as process groups give it to outsiders, is refused."""
    refuses(lambda: implementation.partition(layout, world, rank), "ranks are not negative, or refused")


@law("CPX-014", needs=NEEDS, harm="corrupt boundaries are trained on", sources=("I10", "MB-11", "P-BOUND"))
@given(layout=decreasing_layouts(SPLIT), world=SPLIT, rank=ranks(SPLIT))
def test_decreasing_boundaries_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Boundaries that decrease are refused."""
    refuses(lambda: implementation.partition(layout, world, rank), "boundaries do not decrease, or are refused")


@law("CPX-015", needs=NEEDS, harm="the first tokens of the stream are lost", sources=("I10", "P-BOUND"))
@given(layout=layouts_not_from_zero(SPLIT), world=SPLIT, rank=ranks(SPLIT))
def test_boundaries_that_do_not_start_at_zero_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Boundaries that do not start at 0 are refused."""
    refuses(lambda: implementation.partition(layout, world, rank), "boundaries start at 0, or are refused")
