"""Layouts of packed streams: segments, their slots and valid tokens, CP sizes and ranks.

    @given(layout=layouts(), world=worlds(), rank=ranks())

draws a layout whose segments can be cut for the CP size drawn beside it: ``worlds()`` is one draw per example, however
often it is named. Sizes are small (at most 6 segments of 3 multiples), so that examples are fast and shrink well.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.segments import layout_of, with_zero_length_segments
from reference_impl.batches import Layout
from reference_impl.documents import IntArray

WORLDS = (1, 2, 3, 4, 8)
MULTIPLES = (1, 2, 4, 6, 8)
MOST_SEGMENTS = 6

Size = tuple[int, int]
"""Slots and valid tokens of one segment."""

Padding = Literal["any", "none", "some", "inner", "tail"]
"""Segments with fewer valid tokens than slots: any, none, some, some before the last one, or only the last one."""


@cache
def worlds(at_least: int = 1) -> SearchStrategy[int]:
    """CP sizes; named twice in one law, it is the same draw."""
    sizes = [world for world in WORLDS if world >= at_least]
    return st.shared(st.sampled_from(sizes), key=f"CP size of at least {at_least}")


@cache
def ranks(world: SearchStrategy[int] | None = None) -> SearchStrategy[int]:
    """A rank of the CP size drawn beside it."""
    return _or_any(world).flatmap(lambda size: st.integers(0, size - 1))


@cache
def multiples() -> SearchStrategy[int]:
    """Alignments of segments, 1 (none) to 8."""
    return st.sampled_from(MULTIPLES)


@cache
def layouts(
    *,
    world: SearchStrategy[int] | None = None,
    multiple: SearchStrategy[int] | None = None,
    padding: Padding = "any",
    segments: tuple[int, int] = (1, MOST_SEGMENTS),
) -> SearchStrategy[Layout]:
    """Layouts whose segments all have slots.

    Args:
        world: every segment's slots are a multiple of twice this CP size; by default ``worlds()``.
        multiple: every segment's slots are a multiple of this instead, independent of any CP size.
        padding: which segments are padded. Valid lengths favour none, one, half, all but one and all of the slots.
        segments: fewest and most segments.
    """
    aligned = _or_any(world).map(_twice) if multiple is None else multiple
    return aligned.flatmap(lambda size: _layouts(size, padding, segments))


@cache
def lengths(*, zero: bool = False) -> SearchStrategy[IntArray]:
    """Valid lengths of one to six segments, before padding.

    Args:
        zero: at least one of them is 0; otherwise none is.
    """
    drawn = st.lists(st.integers(0 if zero else 1, 20), min_size=1, max_size=MOST_SEGMENTS)
    return (st.builds(_with_zero, drawn, st.integers(0, MOST_SEGMENTS)) if zero else drawn).map(_as_array)


@cache
def layouts_with_zero_length_segments(
    *,
    world: SearchStrategy[int] | None = None,
    multiple: SearchStrategy[int] | None = None,
    padding: Padding = "any",
) -> SearchStrategy[Layout]:
    """Layouts with one to three segments of no slot among one to four others: leading, inner or trailing."""
    others = layouts(world=world, multiple=multiple, padding=padding, segments=(1, 4))
    borders = st.lists(st.integers(0, 4), min_size=1, max_size=3)
    return st.builds(_scatter_zero_length_segments, others, borders)


@cache
def layouts_without_slots() -> SearchStrategy[Layout]:
    """Streams of no slot: no segment, or only segments of no slot."""
    return st.integers(0, 3).map(lambda segments: layout_of([0] * segments))


@cache
def layouts_beyond_int32(world: SearchStrategy[int] | None = None) -> SearchStrategy[Layout]:
    """Layouts whose boundaries exceed 32 bits; for operations that work on boundaries and not on slots."""
    return _or_any(world).map(_twice).flatmap(_layouts_beyond_int32)


Undivisible = Literal["no multiple of W", "odd multiple of W", "only the total is divisible"]


@cache
def undivisible_layouts(kind: Undivisible, world: SearchStrategy[int]) -> SearchStrategy[Layout]:
    """Layouts that cannot be cut into 2W chunks per segment, for CP sizes of at least 2.

    Args:
        kind: one segment of 2Wk + d slots (shorter than 2W where k is 0) with 0 < d < 2W but not W, or with d = W;
            or two segments of the first kind that add up to a multiple of 2W.
        world: CP size.
    """
    return world.flatmap(lambda size: _undivisible(kind, size))


@cache
def decreasing_layouts(world: SearchStrategy[int] | None = None) -> SearchStrategy[Layout]:
    """Boundaries that fall once, all of them multiples of twice the CP size."""
    chunks = st.sampled_from(((2, -1, 1), (1, 1, -1), (3, -2)))
    return st.builds(_scaled, chunks, _or_any(world).map(_twice))


@cache
def layouts_not_from_zero(world: SearchStrategy[int] | None = None) -> SearchStrategy[Layout]:
    """Boundaries that start at a positive multiple of twice the CP size."""
    return st.builds(_shifted, layouts(world=world), _or_any(world).map(_twice))


def _or_any(world: SearchStrategy[int] | None) -> SearchStrategy[int]:
    return worlds() if world is None else world


def _twice(world: int) -> int:
    return 2 * world


@cache
def _sizes(multiple: int, padding: Padding) -> tuple[Size, ...]:
    """Sizes of a segment to choose from, the simplest first; remarkable ones come several times."""
    sizes: list[Size] = []
    for slots in range(multiple, (4 if multiple > 1 else 7) * multiple, multiple):
        remarkable = [slots] if padding == "none" else [slots, 0, 1, slots // 2, slots - 1]
        sizes += [(slots, valid) for valid in remarkable] * 3
        sizes += [] if padding == "none" else [(slots, valid) for valid in range(slots)]
    return tuple(sizes)


@cache
def _layouts(multiple: int, padding: Padding, segments: tuple[int, int]) -> SearchStrategy[Layout]:
    if padding == "tail":
        full = _lists(_one_of(multiple, "none"), max(segments[0] - 1, 0), segments[1] - 1)
        last = _one_of(multiple, "any").filter(lambda size: size[1] < size[0])
        return st.builds(_layout, full, last)
    fewest = max(segments[0], 2) if padding == "inner" else segments[0]
    sizes = _lists(_one_of(multiple, padding), fewest, segments[1])
    if padding in ("some", "inner"):
        last = -1 if padding == "inner" else None
        sizes = sizes.filter(lambda drawn: any(valid < slots for slots, valid in drawn[:last]))
    return sizes.map(_layout)


def _lists(size: SearchStrategy[Size], fewest: int, most: int) -> SearchStrategy[list[Size]]:
    """Lists of ``fewest`` to ``most`` sizes, longer ones more often than Hypothesis would draw them."""
    by_length = {length: st.lists(size, min_size=length, max_size=length) for length in range(fewest, most + 1)}
    lengths = [*by_length, *(length for length in by_length if length > 2)]
    return st.sampled_from(lengths).flatmap(by_length.__getitem__)


@cache
def _one_of(multiple: int, padding: Padding) -> SearchStrategy[Size]:
    return st.sampled_from(_sizes(multiple, padding))


@cache
def _layouts_beyond_int32(multiple: int) -> SearchStrategy[Layout]:
    slots = [multiple * (2**31 // multiple + extra) for extra in (1, 2, 2**31)]
    sizes = [(size, valid) for size in slots for valid in (size, size - 1, size // 2, 1, 0)]
    return st.lists(st.sampled_from(sizes), min_size=1, max_size=3).map(_layout)


@cache
def _undivisible(kind: Undivisible, world: int) -> SearchStrategy[Layout]:
    chunks = 2 * world
    others = [rest for rest in range(1, chunks) if rest != world]
    rests = st.just(world) if kind == "odd multiple of W" else st.sampled_from(others)
    divisible = st.lists(st.sampled_from((chunks, 2 * chunks)), max_size=2)
    fitting = kind == "only the total is divisible"

    def build(before: list[int], whole: int, rest: int, after: list[int]) -> Layout:
        other = [chunks - rest] if fitting else []
        return layout_of([*before, whole * chunks + rest, *after, *other])

    return st.builds(build, divisible, st.integers(0, 2), rests, divisible)


def _layout(sizes: list[Size], last: Size | None = None) -> Layout:
    sizes = [*sizes, last] if last else sizes
    return layout_of([slots for slots, _ in sizes], [valid for _, valid in sizes])


def _with_zero(lengths: list[int], at: int) -> list[int]:
    return [*lengths[:at], 0, *lengths[at:]]


def _as_array(lengths: list[int]) -> IntArray:
    return np.array(lengths, dtype=np.int64)


def _scaled(lengths: tuple[int, ...], by: int) -> Layout:
    return layout_of([by * length for length in lengths])


def _shifted(layout: Layout, by: int) -> Layout:
    return Layout(layout.valid, layout.padded + by)


def _scatter_zero_length_segments(layout: Layout, borders: list[int]) -> Layout:
    last = layout.padded.size - 1
    for border in borders:
        layout = with_zero_length_segments(layout, [min(border, last)], 1)
    return layout
