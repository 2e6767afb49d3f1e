"""In-batch packing: the real tokens of a padded batch as one stream.

    tokens, pad id 0       1 2 3 . .        multiple 4
                           4 5 6 7 8

    slot             0  1  2  3 | 4  5  6  7  8  9 10 11
    tokens           1  2  3  0 | 4  5  6  7  8  0  0  0
    position_ids     0  1  2  3 | 0  1  2  3  4  5  6  7
    padded           0            4                        12
    valid            0            3                         8

Source: Megatron Bridge ``training/vlm_step.py`` (``pack_batch_sequences``), for any side of the padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reference_impl.batches import AnyArray, Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.documents import BoolArray, IntArray
from reference_impl.errors import PackingError
from reference_impl.thd import pad_layout

IGNORED_LABEL = -100
"""Label of a slot without a target: ``ignore_index`` of PyTorch's cross entropy."""

VLM_PAD_ID = 0
"""The VLM step's pad id, whatever the tokenizer says (Megatron Bridge ``training/vlm_step.py``)."""


def padding_multiple(parallelism: Parallelism) -> int:
    """Slots that every segment must be a multiple of.

    2 * CP for the chunks of context parallelism; with sequence parallelism each of the TP ranks also needs an equal
    part of what a CP rank holds, hence lcm(2 * CP, CP * TP); 1 when nothing is parallel (Megatron Bridge PR #2932).

    Raises:
        PackingError: a size is below 1.
    """
    for name, size in (("context", parallelism.context), ("tensor", parallelism.tensor)):
        if size < 1:
            raise PackingError(name, size, "must be at least 1")
    for_context = 2 * parallelism.context if parallelism.context > 1 else 1
    if parallelism.sequence_parallel and parallelism.tensor > 1:
        return math.lcm(for_context, parallelism.context * parallelism.tensor)
    return for_context


def real_tokens(batch: PaddedBatch, pad_id: int) -> BoolArray:
    """True where a token of the batch is real (B, S).

    Without a padding mask only a trailing run of ``pad_id`` counts as padding: a pad id inside a row is content.
    """
    if batch.padding_mask is not None:
        return batch.padding_mask.astype(np.bool_)
    is_other = batch.tokens != pad_id
    return np.logical_or.accumulate(is_other[:, ::-1], axis=1)[:, ::-1]


def pack_in_batch(
    batch: PaddedBatch, multiple: int, pad_id: int, pad_layout: Callable[[IntArray, int], Layout] = pad_layout
) -> ThdBatch:
    """Concatenate the real tokens of all rows, each segment padded to ``multiple``.

    Args:
        batch: B x S tokens, padded on any side, also with holes; the order of the real tokens is kept.
        multiple: slots of each segment are a multiple of this.
        pad_id: token of alignment padding; without a padding mask also what tells trailing padding.
        pad_layout: the operation of this name.

    Returns:
        One segment per row that has a real token. Alignment padding holds ``pad_id``, label -100, loss 0 and positions
        that run on. ``raw`` holds ``cu_seqlens`` (slots) and ``max_seqlen``, and with a multiple above 1
        ``cu_seqlens_unpadded``, all int32.

    Raises:
        PackingError: ``multiple`` is below 1, or an array of the batch has another shape than ``tokens``.
    """
    _check_shapes(batch)
    real = real_tokens(batch, pad_id)
    lengths = real.sum(axis=1, dtype=np.int64)
    lengths = lengths[lengths > 0]
    layout = pad_layout(lengths, multiple)
    total = int(layout.padded[-1])
    # Real tokens come row by row, and stand first in their segment.
    first_token = np.cumsum(lengths) - lengths
    slots = np.arange(lengths.sum(), dtype=np.int64) + np.repeat(layout.padded[:-1] - first_token, lengths)
    return ThdBatch(
        tokens=_scatter(batch.tokens[real], slots, total, pad_id),
        labels=None if batch.labels is None else _scatter(batch.labels[real], slots, total, IGNORED_LABEL),
        loss_mask=None if batch.loss_mask is None else _scatter(batch.loss_mask[real], slots, total, 0.0),
        position_ids=_run_on(batch.position_ids[real], lengths, layout),
        layout=layout,
        max_seqlen=int(np.diff(layout.padded).max(initial=0)),
        raw=raw_boundaries(layout, with_valid=multiple > 1),
    )


def refuse_empty_rows(batch: PaddedBatch, pad_id: int) -> None:
    """Check that every row has a real token.

    Raises:
        PackingError: one has none.
    """
    empty = np.flatnonzero(~real_tokens(batch, pad_id).any(axis=1))
    if empty.size:
        raise PackingError("batch", int(empty[0]), "must hold a real token in every row; this row has none")


def raw_boundaries(layout: Layout, *, with_valid: bool) -> dict[str, AnyArray]:
    """Boundaries by the names of a batch: ``cu_seqlens`` are slots there, ``cu_seqlens_unpadded`` valid lengths."""
    raw: dict[str, AnyArray] = {
        "cu_seqlens": layout.padded.astype(np.int32),
        "max_seqlen": np.array(np.diff(layout.padded).max(initial=0), dtype=np.int32),
    }
    if with_valid:
        raw["cu_seqlens_unpadded"] = layout.valid.astype(np.int32)
    return raw


def _check_shapes(batch: PaddedBatch) -> None:
    """Raise unless all arrays of the batch are (B, S)."""
    if batch.tokens.ndim != 2:
        raise PackingError("tokens", batch.tokens.shape, "must have the two dimensions B x S")
    others = {
        "labels": batch.labels,
        "loss_mask": batch.loss_mask,
        "position_ids": batch.position_ids,
        "padding_mask": batch.padding_mask,
    }
    for name, array in others.items():
        if array is not None and array.shape != batch.tokens.shape:
            raise PackingError(name, array.shape, f"must have the shape of tokens, {batch.tokens.shape}")


def _scatter[Number: (np.int64, np.float64)](
    values: NDArray[Number], slots: IntArray, total: int, padding: float
) -> NDArray[Number]:
    """A stream of ``total`` slots with ``values`` at ``slots`` and ``padding`` elsewhere."""
    stream = np.full(total, padding, dtype=values.dtype)
    stream[slots] = values
    return stream


def _run_on(positions: IntArray, lengths: IntArray, layout: Layout) -> IntArray:
    """Positions (T,) of every segment's real tokens, continued by 1 per slot of its padding."""
    last_token = np.cumsum(lengths) - 1
    slots = np.diff(layout.padded)
    # Counting backwards from a segment's end and anchoring at its last real token gives the padding its positions ...
    after_last = np.arange(layout.padded[-1], dtype=np.int64) - np.repeat(layout.padded[:-1] + lengths - 1, slots)
    stream = np.repeat(positions[last_token], slots) + after_last
    # ... while the real tokens keep those that the batch gave them, whatever they are.
    stream[after_last <= 0] = positions
    return stream
