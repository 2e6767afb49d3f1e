"""THD boundaries: what they mean slot by slot, and how they reach an attention kernel.

Two documents of 3 and 2 valid tokens in slots padded to a multiple of 4, followed by 2 slots that no segment owns:

    slot             0  1  2  3 | 4  5  6  7 | 8  9
    position_ids     0  1  2  3 | 0  1  2  3 |
    padding_mask     .  .  .  T | .  .  T  T |
    sequence_index   0  0  0  0 | 1  1  1  1 | 2  2

    valid   [0, 3, 5]     compacted sums of valid lengths, not positions in the buffer
    padded  [0, 4, 8]     positions in the buffer

Meaning of the two arrays: Megatron-Core ``PackedSeqParams`` and TransformerEngine ``cu_seqlens_q(_padded)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reference_impl.batches import AnyArray, BoundaryMetadata, Layout, SequenceParams
from reference_impl.documents import BoolArray, IntArray
from reference_impl.errors import PackingError
from reference_impl.lengths import checked_lengths

LARGEST_BOUNDARY = 2**31 - 1
"""Kernels take 32-bit boundaries (TransformerEngine ``thd_get_partitioned_indices`` checks the type)."""


# Layouts -------------------------------------------------------------------------------------------------------------


def check_boundaries(argument: str, boundaries: AnyArray) -> IntArray:
    """Return one boundary array (n + 1,) as int64.

    Raises:
        PackingError: it is empty, not one-dimensional or not of integers, does not start at 0, or decreases.
    """
    array = np.asarray(boundaries)
    if array.ndim != 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise PackingError(argument, array.tolist(), "must be a one-dimensional array of integers with an entry")
    if array[0] != 0:
        raise PackingError(argument, array.tolist(), "must start at 0")
    wide = array.astype(np.int64)
    if np.any(np.diff(wide) < 0):
        raise PackingError(argument, array.tolist(), "must not decrease")
    return wide


def check_layout(layout: Layout) -> Layout:
    """Return ``layout`` with int64 arrays.

    Raises:
        PackingError: an array is no boundary array, the two have different lengths, or a segment has more valid tokens
            than slots.
    """
    valid = check_boundaries("layout.valid", layout.valid)
    padded = check_boundaries("layout.padded", layout.padded)
    if valid.size != padded.size:
        raise PackingError("layout.valid", valid.tolist(), f"must have as many entries as padded ({padded.size})")
    if np.any(np.diff(valid) > np.diff(padded)):
        raise PackingError("layout.valid", valid.tolist(), f"must fit into the slots of {padded.tolist()}")
    return Layout(valid, padded)


def boundaries_of(lengths: IntArray) -> IntArray:
    """Cumulative boundaries (n + 1,) int64 of lengths (n,)."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def pad_layout(lengths: IntArray, multiple: int) -> Layout:
    """Boundaries of segments with valid ``lengths`` (n,), each in ceil(length / multiple) * multiple slots.

    Raises:
        PackingError: ``multiple`` is below 1, or a length is negative or no integer.
    """
    if multiple < 1:
        raise PackingError("multiple", multiple, "must be at least 1")
    valid = checked_lengths(lengths)
    return Layout(boundaries_of(valid), boundaries_of(-(-valid // multiple) * multiple))


def merge_layouts(layouts: Sequence[Layout]) -> Layout:
    """Boundaries of the streams laid one after another; those of no stream are ``[0]``.

    Every segment stays one segment, zero-length ones included, and none grows across a border of two streams
    (Megatron-LM PR #5454).
    """
    checked = [check_layout(layout) for layout in layouts]
    return Layout(
        valid=boundaries_of(_joined([np.diff(layout.valid) for layout in checked])),
        padded=boundaries_of(_joined([np.diff(layout.padded) for layout in checked])),
    )


def _joined(parts: Sequence[IntArray]) -> IntArray:
    """Concatenation (sum of lengths,) int64 that also accepts no parts."""
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


# Slot by slot --------------------------------------------------------------------------------------------------------


def sequence_index(layout: Layout, total: int) -> IntArray:
    """Segment of each of ``total`` slots (total,) int64; slots beyond the last boundary form segment n.

    A zero-length segment owns no slot but keeps its number, so that numbers may be skipped. Source: Megatron-Core
    ``PackedSeqParams.__post_init__``, without its clamp, which hides a ``total`` that is too small.

    Raises:
        PackingError: ``total`` is below the last boundary.
    """
    padded = check_layout(layout).padded
    if total < padded[-1]:
        raise PackingError("total", total, f"must cover all {int(padded[-1])} slots of the segments")
    slots = np.append(np.diff(padded), total - padded[-1])
    return np.repeat(np.arange(padded.size, dtype=np.int64), slots)


def position_ids(layout: Layout) -> IntArray:
    """Position of each slot inside its segment (T,) int64; alignment padding goes on counting."""
    padded = check_layout(layout).padded
    starts = np.repeat(padded[:-1], np.diff(padded))
    return np.arange(padded[-1], dtype=np.int64) - starts


def padding_mask(layout: Layout) -> BoolArray:
    """True where a slot is padding (T,) bool: where its position is not below its segment's valid length."""
    checked = check_layout(layout)
    valid_lengths = np.repeat(np.diff(checked.valid), np.diff(checked.padded))
    return position_ids(checked) >= valid_lengths


# Kernel parameters ---------------------------------------------------------------------------------------------------


def sequence_params(
    metadata: BoundaryMetadata, sequence_index: Callable[[Layout, int], IntArray] = sequence_index
) -> SequenceParams:
    """Kernel parameters of a batch's boundaries.

    Args:
        metadata: the boundaries as the batch carries them.
        sequence_index: the operation of this name, for ``seq_idx``.

    Returns:
        int32 boundaries without sentinels. The padded arrays are there only when they differ from the valid ones:
        kernels take a slower path when they get both (Megatron Bridge PR #2039).

    Raises:
        PackingError: there is more than one row, an argmin is out of range, boundaries are malformed or do not fit
            each other, or ``max_seqlen`` is below the longest segment.
    """
    padded = _trim("cu_seqlens", metadata.cu_seqlens, metadata.argmin)
    valid = padded
    if metadata.cu_seqlens_unpadded is not None:
        valid = _trim("cu_seqlens_unpadded", metadata.cu_seqlens_unpadded, metadata.unpadded_argmin)
    layout = check_layout(Layout(valid, padded))
    longest = int(np.diff(padded).max(initial=0))
    if metadata.max_seqlen is not None and metadata.max_seqlen < longest:
        raise PackingError("max_seqlen", metadata.max_seqlen, f"must cover the longest segment of {longest} slots")
    seq_idx = None if metadata.total_tokens is None else sequence_index(layout, metadata.total_tokens).astype(np.int32)
    cu_seqlens = valid.astype(np.int32)
    cu_seqlens_padded = None if np.array_equal(valid, padded) else padded.astype(np.int32)
    return SequenceParams(
        cu_seqlens_q=cu_seqlens,
        cu_seqlens_kv=cu_seqlens,
        cu_seqlens_q_padded=cu_seqlens_padded,
        cu_seqlens_kv_padded=cu_seqlens_padded,
        max_seqlen_q=metadata.max_seqlen,
        max_seqlen_kv=metadata.max_seqlen,
        seq_idx=seq_idx,
    )


def _trim(argument: str, boundaries: AnyArray, argmin: int | None) -> IntArray:
    """True entries (n + 1,) int64 of a boundary array that sentinels may follow.

    [[0, 4, 8, -1, -1]] -> [0, 4, 8]        at argmin = 3, or at the first negative entry
    [0, 4, 8]           -> [0, 4, 8]        no argmin and no sentinel: everything is true (Megatron Bridge PR #2246)
    """
    array = np.asarray(boundaries)
    if array.ndim == 2 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 1:
        raise PackingError(argument, array.tolist(), "must be one row, because packing needs micro batch size 1")
    if argmin is None:
        sentinels = np.flatnonzero(array < 0)
        argmin = int(sentinels[0]) if sentinels.size else array.size
    elif not 1 <= argmin <= array.size:
        raise PackingError("argmin", argmin, f"must be from 1 to the {array.size} entries of {argument}")
    trimmed = check_boundaries(argument, array[:argmin])
    if trimmed[-1] > LARGEST_BOUNDARY:
        raise PackingError(argument, int(trimmed[-1]), "must fit into 32 bits, as kernels take it")
    return trimmed
