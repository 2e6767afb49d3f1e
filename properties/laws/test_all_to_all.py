"""CPX: the order of slots in an all-to-all, the keys that a chunk sees, and one cut for all operations."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from properties.claims import refuses, same
from properties.law import law
from properties.segments import (
    THREE_SEGMENTS,
    owned_slots,
    pick,
    position_of,
    segment_of,
    slots_per_segment,
    total_slots,
    valid_per_segment,
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
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import Borders, RotaryMode

NEEDS = {Op.ALL_TO_ALL_ORDER}
SPLIT = worlds(at_least=2)


@law(
    "CPX-032",
    needs=NEEDS,
    harm="recurrent layers read the stream in the order of ranks",
    sources=("I22", "I6", "SL-02"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds())
def test_all_to_all_puts_slots_rank_by_rank(implementation: Implementation, layout: Layout, world: int) -> None:
    """Towards ranks, the slots of rank 0 come first, then those of rank 1, and so on, each in their own order."""
    expected = np.concatenate([owned_slots(layout, world, rank) for rank in range(world)])
    same(implementation.all_to_all_order(layout, world).to_ranks, expected, "slots come rank by rank")


@law(
    "CPX-033",
    needs=NEEDS,
    harm="slots come back from recurrent layers in another order than they went",
    sources=("I22", "I6", "SL-02", "B20"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds())
def test_all_to_all_is_undone(implementation: Implementation, layout: Layout, world: int) -> None:
    """Going to ranks and back to the stream, and the other way round, changes nothing."""
    order = implementation.all_to_all_order(layout, world)
    slots = np.arange(total_slots(layout))
    sentence = "both orders are permutations, each the inverse of the other"
    same(pick(order.to_ranks, order.to_stream, sentence), slots, sentence)
    same(pick(order.to_stream, order.to_ranks, sentence), slots, sentence)


@law(
    "CPX-033",
    facet="zero-length segments",
    needs=NEEDS,
    harm="filler segments of a static shape end the run",
    sources=("I22", "I8", "B20", "P-TOTAL"),
)
@given(layout=layouts_with_zero_length_segments() | layouts_without_slots(), world=worlds())
def test_all_to_all_is_undone_beside_zero_length_segments(
    implementation: Implementation, layout: Layout, world: int
) -> None:
    """Segments of no slot, anywhere, leave both orders permutations of the slots."""
    order = implementation.all_to_all_order(layout, world)
    slots = np.arange(total_slots(layout))
    sentence = "both orders are permutations, each the inverse of the other"
    same(pick(order.to_ranks, order.to_stream, sentence), slots, sentence)


@law("CPX-034", needs=NEEDS, harm="slots are read from uninitialised memory", sources=("I10", "I22", "B20"))
@given(layout=undivisible_layouts("odd multiple of W", SPLIT), world=SPLIT)
def test_all_to_all_of_odd_multiples_is_refused(implementation: Implementation, layout: Layout, world: int) -> None:
    """A segment whose slots are divisible by W, but not by 2W, is refused."""
    refuses(lambda: implementation.all_to_all_order(layout, world), "every segment has 2W equal chunks, or is refused")


@law(
    "CPX-035",
    needs={Op.PARTITION, Op.LOCAL_BOUNDARIES},
    harm="all-gather attention shows queries the keys of later tokens, or hides earlier ones",
    sources=("I15", "I11"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(world=SPLIT, padding="some"), world=SPLIT, rank=ranks(SPLIT))
def test_queries_aligned_bottom_right_see_what_came_before_them(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """In chunk k, query u of Q valid ones sees ``min(V, c (k + 1)) - Q + u + 1`` keys: its position and those before.

    Positions come from the implementation's partition, Q from its local boundaries.
    """
    slots = implementation.partition(layout, world, rank)
    segments = pick(segment_of(layout), slots, "a rank owns slots of the stream")
    positions = position_of(layout)[slots]
    on_rank = np.diff(implementation.local_boundaries(layout, world, rank))
    same(on_rank.shape, (layout.padded.size - 1,), "a rank has one boundary per segment and one more")
    chunks = slots_per_segment(layout) // (2 * world)
    for segment, (valid, chunk) in enumerate(zip(valid_per_segment(layout), chunks, strict=True)):
        own = positions[segments == segment][: on_rank[segment]]
        for number in (rank, 2 * world - 1 - rank):
            in_chunk = own[own // chunk == number]
            seen = min(valid, chunk * (number + 1)) - in_chunk.size + np.arange(in_chunk.size) + 1
            same(in_chunk + 1, seen, "the keys that a query sees are those up to its own position")


@law(
    "CPX-036",
    needs={Op.PARTITION, Op.SLICE_BATCH, Op.ALL_TO_ALL_ORDER, Op.ROTARY_ROWS, Op.ROLL},
    harm="tokens, positions, targets and state belong to different slots, and nothing fails",
    sources=("I24", "I7", "MB-02", "B8"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_all_operations_cut_a_stream_alike(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Partition, slice, all-to-all, rotary rows and shifted values agree on the slots of a rank."""
    slots = implementation.partition(layout, world, rank)
    batch = stream_of(layout)
    share = total_slots(layout) // world
    order = implementation.all_to_all_order(layout, world).to_ranks
    numbers = np.arange(total_slots(layout))
    same(order[rank * share : (rank + 1) * share], slots, "the all-to-all has the slots of the partition")
    same(implementation.rotary_rows(layout, world, rank, RotaryMode.STREAM), slots, "rotary rows have them too")
    same(implementation.roll(numbers, layout, world, 0, Borders.PADDED)[rank], slots, "and so have shifted values")
    expected = pick(batch.tokens, slots, "a rank owns slots of the stream")
    same(implementation.slice_batch(batch, world, rank).tokens, expected, "and sliced tokens")
