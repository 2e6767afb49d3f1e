"""Tiny streams for numerics: layouts of at most 24 slots, and numbers that a seed decides.

A case file holds the layout, the sizes and the seed; ``attention_inputs`` and ``recurrence_inputs`` make the arrays.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.segments import layout_of, total_slots
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, FloatArray, RecurrenceInputs

MOST_SLOTS = 24
CHANNELS, TAPS = 2, 3
HEADS = ((1, 1), (2, 2), (2, 1))
"""Heads of queries and of keys."""


@cache
def few_ranks() -> SearchStrategy[int]:
    """CP sizes up to 3, because the work grows with their square; named twice in one law, it is the same draw."""
    return st.shared(st.sampled_from((2, 1, 2, 2, 3)), key="CP size of numerics")


@cache
def small_layouts() -> SearchStrategy[Layout]:
    """One to three segments, padded or not, for the CP size drawn beside them: at most ``MOST_SLOTS`` slots."""
    return few_ranks().flatmap(lambda world: _small_layouts(2 * world))


@cache
def uncut_layouts() -> SearchStrategy[Layout]:
    """One to four segments of 0 to 6 slots, some of them padded; at least one has slots."""
    sizes = st.tuples(st.integers(0, 6), st.integers(0, 2))
    drawn = st.lists(sizes, min_size=1, max_size=4).filter(lambda drawn: any(slots for slots, _ in drawn))
    return drawn.map(_with_padding)


@cache
def _small_layouts(multiple: int) -> SearchStrategy[Layout]:
    def sizes(slots: int) -> SearchStrategy[tuple[int, int]]:
        valid = (slots, slots, slots - 1, slots // 2 + 1, slots // 2, 1, 0) if slots else (0,)
        return st.tuples(st.just(slots), st.sampled_from(valid))

    segment = st.sampled_from((multiple, 2 * multiple, multiple, multiple, 0)).flatmap(sizes)
    most = max(2, min(3, MOST_SLOTS // (2 * multiple)))
    lists = st.sampled_from((most, 2, most, 1)).flatmap(lambda count: st.lists(segment, min_size=count, max_size=most))
    return lists.filter(lambda drawn: 0 < sum(slots for slots, _ in drawn) <= MOST_SLOTS).map(_of_sizes)


def _of_sizes(sizes: list[tuple[int, int]]) -> Layout:
    return layout_of([slots for slots, _ in sizes], [valid for _, valid in sizes])


def _with_padding(sizes: list[tuple[int, int]]) -> Layout:
    return layout_of([slots for slots, _ in sizes], [max(slots - padding, 0) for slots, padding in sizes])


def seeds() -> SearchStrategy[int]:
    """Seeds of numbers."""
    return st.integers(0, 99)


def attention_inputs(layout: Layout, heads: tuple[int, int], seed: int) -> AttentionInputs:
    """Queries, keys, values and gradients from -1 to 1, of head size 3, of 2 for values.

    Args:
        layout: boundaries of the stream.
        heads: heads of queries and of keys.
        seed: decides the numbers.
    """
    total = total_slots(layout)
    return AttentionInputs(
        q=numbers((total, heads[0], 3), seed),
        k=numbers((total, heads[1], 3), seed + 1),
        v=numbers((total, heads[1], 2), seed + 2),
        grad_out=numbers((total, heads[0], 2), seed + 3),
    )


def recurrence_inputs(layout: Layout, seed: int, *, taps: bool = False) -> RecurrenceInputs:
    """Values, decays (or taps) and gradients of ``CHANNELS`` channels."""
    total = total_slots(layout)
    decays = numbers((TAPS if taps else total, CHANNELS), seed + 1)
    return RecurrenceInputs(
        values=numbers((total, CHANNELS), seed),
        decays=decays if taps else (decays + 1) / 2,
        grad_out=numbers((total, CHANNELS), seed + 2),
    )


def numbers(shape: tuple[int, ...], seed: int) -> FloatArray:
    """Irregular numbers from -1 to 1, the same on every platform but for rounding."""
    count = int(np.prod(shape))
    return np.sin(1.0 + seed + 12.9898 * np.arange(count)).reshape(shape)
