"""What each slot of a packed stream is, worked out slot by slot from the boundaries alone.

Laws are stated with these words instead of being compared with an implementation. Two segments of 8 and 4 slots with 5
and 4 valid tokens, CP size 2:

    slot       0 1 2 3 4 5 6 7 | 8 9 10 11
    segment    0 0 0 0 0 0 0 0 | 1 1  1  1
    position   0 1 2 3 4 5 6 7 | 0 1  2  3
    padding    . . . . . x x x | . .  .  .
    chunk      0 0 1 1 2 2 3 3 | 0 1  2  3
    owner      0 0 1 1 1 1 0 0 | 0 1  1  0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properties.claims import Broken
from properties.law import Activity
from reference_impl.batches import AnyArray, Layout, PaddedBatch, ThdBatch
from reference_impl.documents import BoolArray, IntArray

# Layouts -------------------------------------------------------------------------------------------------------------


def cumulative(lengths: Iterable[int]) -> IntArray:
    """Boundaries (n + 1,) of segments with these lengths (n,)."""
    return np.cumsum([0, *lengths], dtype=np.int64)


def layout_of(slots: Sequence[int], valid: Sequence[int] | None = None) -> Layout:
    """Layout of segments with so many ``slots`` and ``valid`` tokens each; without ``valid`` nothing is padded."""
    return Layout(valid=cumulative(slots if valid is None else valid), padded=cumulative(slots))


def slots_per_segment(layout: Layout) -> IntArray:
    """Slots of each segment (n,)."""
    return np.diff(layout.padded)


def valid_per_segment(layout: Layout) -> IntArray:
    """Valid tokens of each segment (n,)."""
    return np.diff(layout.valid)


def total_slots(layout: Layout) -> int:
    """T, the slots of the whole stream."""
    return int(layout.padded[-1])


def joined(layouts: Iterable[Layout]) -> Layout:
    """The segments of several streams in one."""
    streams = list(layouts)
    return layout_of(
        [int(slots) for layout in streams for slots in slots_per_segment(layout)],
        [int(valid) for layout in streams for valid in valid_per_segment(layout)],
    )


def with_zero_length_segments(layout: Layout, borders: Iterable[int], times: int) -> Layout:
    """``layout`` with ``times`` segments of no slot inserted at each of ``borders`` (0 to n)."""
    repeats = np.ones(layout.padded.size, dtype=np.int64)
    repeats[list(borders)] += times
    return Layout(valid=np.repeat(layout.valid, repeats), padded=np.repeat(layout.padded, repeats))


# Slots ---------------------------------------------------------------------------------------------------------------


def segment_of(layout: Layout) -> IntArray:
    """Segment of each slot (T,)."""
    return np.searchsorted(layout.padded, np.arange(total_slots(layout)), side="right") - 1


def position_of(layout: Layout) -> IntArray:
    """Position of each slot inside its segment (T,)."""
    return np.arange(total_slots(layout)) - layout.padded[segment_of(layout)]


def is_padding(layout: Layout) -> BoolArray:
    """True where a slot lies behind the valid tokens of its segment (T,)."""
    return position_of(layout) >= valid_per_segment(layout)[segment_of(layout)]


def owner_of(layout: Layout, world: int) -> IntArray:
    """CP rank of each slot (T,): of a segment's 2W equal chunks, rank r owns chunks r and 2W - 1 - r."""
    chunk_slots = slots_per_segment(layout) // (2 * world)
    chunk = position_of(layout) // chunk_slots[segment_of(layout)]
    return np.minimum(chunk, 2 * world - 1 - chunk)


def owned_slots(layout: Layout, world: int, rank: int) -> IntArray:
    """Slots of one CP rank, ascending (T / W,)."""
    return np.flatnonzero(owner_of(layout, world) == rank)


def valid_on_rank(layout: Layout, world: int, rank: int) -> IntArray:
    """Valid tokens of each segment that one CP rank owns (n,), counted slot by slot."""
    counted = (owner_of(layout, world) == rank) & ~is_padding(layout)
    return np.bincount(segment_of(layout)[counted], minlength=slots_per_segment(layout).size)


def pick(values: NDArray[Any], indices: AnyArray, sentence: str) -> NDArray[Any]:
    """``values[indices]``, where one of the two comes from an implementation and need not fit the other.

    Raises:
        Broken: an index is out of range or no integer; ``sentence`` says what should be.
    """
    if indices.size and not (indices.dtype.kind in "iu" and indices.min() >= 0 and indices.max() < values.size):
        raise Broken(sentence, got=indices, expected=f"0 to {values.size - 1}")
    return values[indices]


def by_segment(layout: Layout, values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The part of ``values`` (T,) that lies in each segment.

    Raises:
        Broken: ``values`` does not have one entry per slot.
    """
    if values.shape != (total_slots(layout),):
        raise Broken("there is one entry per slot", got=values.shape, expected=(total_slots(layout),))
    yield from np.split(values, layout.padded[1:-1]) if layout.padded.size > 1 else ()


# Boundary metadata and padded batches --------------------------------------------------------------------------------


def true_entries(boundaries: AnyArray) -> AnyArray:
    """The entries (n + 1,) of a boundary array before its sentinels."""
    flat = boundaries.reshape(-1)
    return flat[flat >= 0]


def real_tokens(batch: PaddedBatch, pad_id: int) -> BoolArray:
    """True where a token of a padded batch is real (B, S); of no use where an unmasked token may equal ``pad_id``."""
    return batch.tokens != pad_id if batch.padding_mask is None else batch.padding_mask


def row_lengths(batch: PaddedBatch, pad_id: int) -> IntArray:
    """Real tokens of each row that has any."""
    lengths = real_tokens(batch, pad_id).sum(axis=1, dtype=np.int64)
    return lengths[lengths > 0]


def packed_layout(batch: PaddedBatch, multiple: int, pad_id: int) -> Layout:
    """The layout that in-batch packing must give: every non-empty row up to the next multiple."""
    lengths = [int(length) for length in row_lengths(batch, pad_id)]
    return layout_of([-(-length // multiple) * multiple for length in lengths], lengths)


def at_content(values: AnyArray | None, packed: ThdBatch, pad_id: int) -> AnyArray:
    """``values`` (T,) where a packed stream holds another token than the pad id, whatever its boundaries say.

    Raises:
        Broken: there are no values, or fewer than tokens.
    """
    return _at(values, packed.tokens != pad_id)


def at_padding(values: AnyArray | None, packed: ThdBatch, pad_id: int) -> AnyArray:
    """``values`` (T,) where a packed stream holds the pad id, whatever its boundaries say.

    Raises:
        Broken: there are no values, or fewer than tokens.
    """
    return _at(values, packed.tokens == pad_id)


def _at(values: AnyArray | None, where: BoolArray) -> AnyArray:
    if values is None:
        raise Broken("a packed stream has the arrays of its batch", got=None)
    return pick(values, np.flatnonzero(where), "a packed stream has one entry per token in every array")


# Activity ------------------------------------------------------------------------------------------------------------


def _three_segments(layout: Layout, **_: object) -> bool:
    return layout.padded.size > 3


def _three_segments_of_a_batch(batch: ThdBatch, **_: object) -> bool:
    return batch.layout.padded.size > 3


def _two_rows(batch: PaddedBatch, **_: object) -> bool:
    return batch.tokens.shape[0] > 1


def _alignment_padding(batch: PaddedBatch, multiple: int, pad_id: int) -> bool:
    return bool(np.any(row_lengths(batch, pad_id) % multiple))


THREE_SEGMENTS = Activity("three or more segments", _three_segments, 0.3)
THREE_SEGMENTS_IN_BATCH = Activity("three or more segments", _three_segments_of_a_batch, 0.3)
TWO_ROWS = Activity("two or more rows", _two_rows, 0.3)
ALIGNMENT_PADDING = Activity("a segment with alignment padding", _alignment_padding, 0.25)
