"""ROT: which row of the rotary table rotates which slot of a rank."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import law
from properties.segments import (
    THREE_SEGMENTS,
    layout_of,
    owned_slots,
    position_of,
    segment_of,
    slots_per_segment,
    total_slots,
    with_zero_length_segments,
)
from properties.strategies.layouts import layouts, ranks, undivisible_layouts, worlds
from reference_impl.batches import Layout
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import RotaryMode

NEEDS = {Op.ROTARY_ROWS}
SPLIT = worlds(at_least=2)
MODES = st.sampled_from(RotaryMode)


@law(
    "ROT-001",
    facet="restart",
    needs=NEEDS,
    harm="tokens are rotated to the place of others, and attention sees wrong distances",
    sources=("I12", "ML-18", "VL-02", "P-POS"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="none"), world=worlds(), rank=ranks())
def test_rows_are_positions_inside_segments(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """With a table of positions, a slot's row is its position inside its segment, not inside the rank's part."""
    expected = position_of(layout)[owned_slots(layout, world, rank)]
    rows = implementation.rotary_rows(layout, world, rank, RotaryMode.RESTART)
    same(rows, expected, "rows are positions inside segments")


@law(
    "ROT-001",
    facet="stream",
    needs=NEEDS,
    harm="tables that hold a row per token are read from the start for every document",
    sources=("I12", "ML-18", "B14", "P-POS"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="none"), world=worlds(), rank=ranks())
def test_rows_of_a_table_of_the_stream_are_slots(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """With a table of the whole stream, a slot's row is the slot: both chunks have their segment's offset."""
    rows = implementation.rotary_rows(layout, world, rank, RotaryMode.STREAM)
    same(rows, owned_slots(layout, world, rank), "rows of a table of the stream are slots")


@law(
    "ROT-002",
    needs=NEEDS,
    harm="rotary attention differs with the kind of table",
    sources=("I12", "B14"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_both_tables_give_the_same_distances(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """Inside a segment, rows of both kinds of tables differ by one constant, so that attention scores are equal."""
    restart = implementation.rotary_rows(layout, world, rank, RotaryMode.RESTART)
    stream = implementation.rotary_rows(layout, world, rank, RotaryMode.STREAM)
    segments = segment_of(layout)[owned_slots(layout, world, rank)]
    same(stream - restart, layout.padded[segments], "the kinds of tables differ by where segments start")


@law(
    "ROT-003",
    needs=NEEDS,
    harm="from the second padded document on, tokens are rotated to the place of others",
    sources=("I12", "ML-19", "TE-01", "P-PADDED"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="some"), world=worlds(), rank=ranks(), mode=MODES)
def test_rows_count_slots_and_not_valid_tokens(
    implementation: Implementation, layout: Layout, world: int, rank: int, mode: RotaryMode
) -> None:
    """How many tokens of a segment are valid does not matter to rows."""
    full = Layout(valid=layout.padded, padded=layout.padded)
    same(
        implementation.rotary_rows(layout, world, rank, mode),
        implementation.rotary_rows(full, world, rank, mode),
        "valid lengths do not matter",
    )


@law(
    "ROT-004",
    facet="zero-length segments",
    needs=NEEDS,
    harm="filler segments of a static shape shift rotations",
    sources=("I8", "I12", "P-TOTAL"),
)
@given(layout=layouts(), world=worlds(), rank=ranks(), mode=MODES, border=st.integers(0, 6))
def test_zero_length_segments_do_not_change_rows(
    implementation: Implementation, layout: Layout, world: int, rank: int, mode: RotaryMode, border: int
) -> None:
    """Segments of no slot, wherever they are, change no row."""
    filled = with_zero_length_segments(layout, [min(border, layout.padded.size - 1)], 2)
    same(
        implementation.rotary_rows(filled, world, rank, mode),
        implementation.rotary_rows(layout, world, rank, mode),
        "segments of no slot change no row",
    )


@law(
    "ROT-005",
    needs=NEEDS,
    harm="the kernel reads behind the table, or its last row again and again",
    sources=("I12", "VL-02", "B15"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds())
def test_rows_lie_inside_the_table(implementation: Implementation, layout: Layout, world: int) -> None:
    """Over all ranks, every position of the longest segment is used, and none beyond it."""
    rows = [implementation.rotary_rows(layout, world, rank, RotaryMode.RESTART) for rank in range(world)]
    used = np.unique(np.concatenate(rows))
    same(
        used, np.arange(int(slots_per_segment(layout).max())), "the rows of the longest segment are used, and no other"
    )


@law("ROT-006", needs=NEEDS, harm="rows are read twice, and others never", sources=("I10", "I12", "B16"))
@given(layout=undivisible_layouts("odd multiple of W", SPLIT), world=SPLIT, rank=ranks(SPLIT), mode=MODES)
def test_rows_of_odd_local_lengths_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int, mode: RotaryMode
) -> None:
    """Segments that give a rank an odd number of slots are refused."""
    refuses(lambda: implementation.rotary_rows(layout, world, rank, mode), "a rank owns two chunks, or is refused")


# Multi-axis ----------------------------------------------------------------------------------------------------------


@law(
    "ROT-007",
    needs={Op.ROTARY_AXES},
    harm="image tokens of packed documents are rotated to the place of others",
    sources=("I12", "B13", "ML-20", "MB-35"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks(), axes=st.integers(1, 3))
def test_axes_are_cut_like_tokens(
    implementation: Implementation, layout: Layout, world: int, rank: int, axes: int
) -> None:
    """On every axis, a rank gets the positions of its slots, in the segments' own cut."""
    positions = np.arange(axes * total_slots(layout)).reshape(axes, -1)
    expected = positions[:, owned_slots(layout, world, rank)]
    same(implementation.rotary_axes(positions, layout, world, rank), expected, "axes are cut like tokens")


@law(
    "ROT-008",
    needs={Op.ROTARY_AXES, Op.ROTARY_ROWS},
    harm="text is rotated differently by multi-axis and plain tables",
    sources=("I12", "MB-35", "P-POS"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_axes_of_text_are_rows(implementation: Implementation, layout: Layout, world: int, rank: int) -> None:
    """Text has the same position on all axes, so every axis gives the rows of a plain table."""
    positions = np.tile(position_of(layout), (3, 1))
    axes = implementation.rotary_axes(positions, layout, world, rank)
    rows = implementation.rotary_rows(layout, world, rank, RotaryMode.RESTART)
    same(axes, np.tile(rows, (3, 1)), "every axis gives the rows of a plain table")


@law("ROT-009", needs={Op.ROTARY_AXES}, harm="positions of another stream are used", sources=("I10", "I12"))
@given(layout=layouts(), world=worlds(), rank=ranks(), more=st.integers(1, 4))
def test_axes_of_another_length_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int, more: int
) -> None:
    """Positions that do not have one column per slot are refused."""
    positions = np.zeros((3, total_slots(layout) + more), dtype=np.int64)
    refuses(
        lambda: implementation.rotary_axes(positions, layout, world, rank), "there is one column per slot, or refused"
    )


@law(
    "ROT-010",
    needs=NEEDS,
    harm="a document is rotated in another way when it has other neighbours",
    sources=("I9", "I12", "P-EQUIV"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(), world=worlds(), rank=ranks())
def test_rows_do_not_depend_on_neighbours(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """The rows of a stream are those of its segments, each alone, one after another."""
    alone = [layout_of([int(slots)]) for slots in slots_per_segment(layout)]
    rows = [implementation.rotary_rows(segment, world, rank, RotaryMode.RESTART) for segment in alone]
    together = implementation.rotary_rows(layout, world, rank, RotaryMode.RESTART)
    same(together, np.concatenate(rows), "each segment is rotated as if it were alone")
    holds(together.size == total_slots(layout) // world, "every slot of a rank has a row", got=together.size)
