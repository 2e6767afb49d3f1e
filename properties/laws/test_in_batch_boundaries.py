"""INB: boundaries of an in-batch pack, absent and empty parts, and packs of changed batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import refuses, same
from properties.law import law
from properties.segments import (
    ALIGNMENT_PADDING,
    TWO_ROWS,
    at_content,
    by_segment,
    cumulative,
    packed_layout,
    real_tokens,
    row_lengths,
    slots_per_segment,
    true_entries,
)
from properties.strategies.batches import ROW_MULTIPLES, pad_ids, right_padded, with_empty_rows, with_only_empty_rows
from reference_impl.batches import AnyArray, PaddedBatch, ThdBatch
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Boundaries, EmptyRow

NEEDS = {Op.PACK_IN_BATCH}


# Boundaries ----------------------------------------------------------------------------------------------------------


@law(
    "INB-009",
    needs=NEEDS,
    harm="context parallelism cannot cut the segments, or memory is wasted on padding",
    sources=("I19", "P-PADDED", "MB-17"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_every_row_is_padded_to_the_next_multiple(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """There is one segment per row, of as many slots as the next multiple of its real tokens."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    expected = packed_layout(batch, multiple, pad_id).padded
    same(packed.layout.padded, expected, "every row fills up to the next multiple, and no more")


@law(
    "INB-025",
    needs=NEEDS,
    harm="the first tokens of a document attend to the document before it",
    sources=("P-BOUND", "P-PERM", "TR-02"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_every_segment_begins_with_the_tokens_of_one_row(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Between two neighbouring boundaries lie the real tokens of one row, and padding behind them."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    segments = [segment.tolist() for segment in by_segment(packed.layout, packed.tokens)]
    rows = [row[real].tolist() for row, real in zip(batch.tokens, real_tokens(batch, pad_id), strict=True)]
    same(len(segments), len(rows), "there is one segment for each row")
    begins = [segment[: len(row)] for segment, row in zip(segments, rows, strict=True)]
    same(begins, rows, "every segment begins with the tokens of one row")


@law(
    "INB-010",
    needs=NEEDS,
    harm="the last document is cut, or the kernel reads behind the stream",
    sources=("P-BOUND", "ML-05"),
    activity=ALIGNMENT_PADDING,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_boundaries_end_at_the_end_of_every_array(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """The last slot boundary is the length of tokens, labels, loss mask and positions."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    for array in (packed.tokens, packed.labels, packed.loss_mask, packed.position_ids):
        if array is not None:
            same(array.shape, (int(packed.layout.padded[-1]),), "the last boundary is the length of every array")


@law(
    "INB-011",
    facet="valid lengths are known",
    needs=NEEDS,
    harm="padding is attended to, routed to experts and counted as tokens",
    sources=("P-PADDED", "ML-30", "MB-29"),
    activity=ALIGNMENT_PADDING,
    policy=Boundaries.SLOTS_AND_VALID,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_boundaries_tell_real_tokens_from_padding(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Beside the slots, the boundaries say how many tokens of each segment are real."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    expected = cumulative([int(length) for length in row_lengths(batch, pad_id)])
    same(packed.layout.valid, expected, "valid boundaries count the real tokens of each row")


@law(
    "INB-012",
    needs=NEEDS,
    harm="rotary tables are too short, or the kernel skips the end of long documents",
    sources=("P-MAXSEQ",),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_longest_segment_is_measured_in_slots(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """``max_seqlen`` is the most slots of a segment, its padding included."""
    longest = slots_per_segment(packed_layout(batch, multiple, pad_id)).max()
    same(implementation.pack_in_batch(batch, multiple, pad_id).max_seqlen, longest, "max_seqlen counts slots")


@law("INB-013", needs=NEEDS, harm="the kernel refuses the boundaries", sources=("P-BOUND", "B10"))
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_raw_boundaries_are_32_bit(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Boundary arrays that go to the kernel as they are hold 32-bit numbers."""
    for name, array in implementation.pack_in_batch(batch, multiple, pad_id).raw.items():
        if name.startswith("cu_seqlens"):
            same(array.dtype, np.dtype(np.int32), f"{name} is int32")


@law(
    "INB-026",
    needs=NEEDS,
    harm="the kernel is given other segments than the batch has",
    sources=("P-BOUND", "P-MAXSEQ", "P-STAGE"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_raw_boundaries_are_those_of_the_segments(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """What a pack carries as ``cu_seqlens``, ``cu_seqlens_unpadded`` and ``max_seqlen`` describe its segments."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    for name, boundaries in (("cu_seqlens", packed.layout.padded), ("cu_seqlens_unpadded", packed.layout.valid)):
        if name in packed.raw:
            same(true_entries(packed.raw[name]), boundaries, f"{name} are boundaries of the segments")
    if "max_seqlen" in packed.raw:
        same(np.ravel(packed.raw["max_seqlen"]), np.array([packed.max_seqlen]), "max_seqlen is that of the pack")


# Absent and empty parts ----------------------------------------------------------------------------------------------


@law("INB-014", needs=NEEDS, harm="pipeline stages without a loss crash", sources=("MB-21", "B3b", "P-TOTAL"))
@given(batch=right_padded(labels="never"), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_absent_labels_stay_absent(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """A batch without labels and loss mask is packed like any other, and has none afterwards."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    same(packed.labels, None, "labels stay absent")
    same(packed.loss_mask, None, "the loss mask stays absent")


@law(
    "INB-015",
    needs=NEEDS,
    harm="a row without content shifts or ends the batch",
    sources=("S22", "P-TOTAL"),
    policy=EmptyRow.LEFT_OUT,
)
@given(batch=with_empty_rows(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_empty_rows_leave_no_trace(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Rows without a real token contribute no segment and no token."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    segments = row_lengths(batch, pad_id).size
    same(packed.layout.padded.size - 1, segments, "there is one segment for each row that is not empty")
    tokens = at_content(packed.tokens, packed, pad_id)
    same(tokens, batch.tokens[real_tokens(batch, pad_id)], "an empty row moves no token")


@law(
    "INB-016",
    needs=NEEDS,
    harm="a micro batch without content ends the run",
    sources=("VL-03", "S19", "P-TOTAL"),
    policy=EmptyRow.LEFT_OUT,
)
@given(batch=with_only_empty_rows(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_rows_that_are_all_empty_make_an_empty_stream(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """A batch without any real token is packed into a stream of no slot, whose boundaries are ``[0]``."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    same(packed.tokens.size, 0, "the stream has no slot")
    same(packed.layout.padded, np.zeros(1), "the boundaries are those of no segment")
    same(packed.max_seqlen, 0, "the longest segment has no slot")


@law(
    "INB-015",
    facet="declared refused",
    needs=NEEDS,
    harm="a row vanishes while its images stay, and every later image goes to another document",
    sources=("S22", "P-TOTAL"),
    policy=EmptyRow.REFUSED,
)
@given(batch=with_empty_rows(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_empty_rows_are_refused_where_that_is_declared(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """A batch with a row without a real token is refused with an error that says so."""
    refuses(lambda: implementation.pack_in_batch(batch, multiple, pad_id), "a batch with an empty row is refused")


# Metamorphic ---------------------------------------------------------------------------------------------------------


@law(
    "INB-017",
    needs=NEEDS,
    harm="the loss depends on which documents share a batch",
    sources=("P-EQUIV", "RL-01"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids(), more=st.integers(1, 5))
def test_width_of_the_batch_does_not_matter(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int, more: int
) -> None:
    """More padding on the right of all rows gives the same packed stream."""
    _same_stream(
        implementation.pack_in_batch(_wider(batch, more, pad_id), multiple, pad_id),
        implementation.pack_in_batch(batch, multiple, pad_id),
    )


def _wider(batch: PaddedBatch, more: int, pad_id: int) -> PaddedBatch:
    def right[Array: AnyArray](values: Array | None, fill: int) -> Array | None:
        return None if values is None else np.pad(values, ((0, 0), (0, more)), constant_values=fill)  # pyright: ignore[reportReturnType]

    return PaddedBatch(
        tokens=np.pad(batch.tokens, ((0, 0), (0, more)), constant_values=pad_id),
        labels=right(batch.labels, -3),
        loss_mask=right(batch.loss_mask, 5),
        position_ids=np.pad(batch.position_ids, ((0, 0), (0, more))),
        padding_mask=right(batch.padding_mask, 0),
    )


@law(
    "INB-018",
    needs=NEEDS,
    harm="a document is packed in another way when it has other neighbours",
    sources=("P-EQUIV", "I9"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_rows_are_packed_independently(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """The packed stream of a batch is that of its rows, one after another."""
    rows = [implementation.pack_in_batch(row, multiple, pad_id) for row in _rows(batch)]
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    same(
        packed.tokens, np.concatenate([row.tokens for row in rows]), "tokens are those of the rows, one after another"
    )
    same(packed.position_ids, np.concatenate([row.position_ids for row in rows]), "so are positions")


def _rows(batch: PaddedBatch) -> Sequence[PaddedBatch]:
    def row[Array: AnyArray](values: Array | None, index: int) -> Array | None:
        return None if values is None else values[index : index + 1]  # pyright: ignore[reportReturnType]

    return [
        PaddedBatch(
            tokens=batch.tokens[index : index + 1],
            labels=row(batch.labels, index),
            loss_mask=row(batch.loss_mask, index),
            position_ids=batch.position_ids[index : index + 1],
            padding_mask=row(batch.padding_mask, index),
        )
        for index in range(batch.tokens.shape[0])
    ]


def _same_stream(packed: ThdBatch, expected: ThdBatch) -> None:
    same(packed.tokens, expected.tokens, "tokens are the same")
    same(packed.labels, expected.labels, "labels are the same")
    same(packed.loss_mask, expected.loss_mask, "loss weights are the same")
    same(packed.position_ids, expected.position_ids, "positions are the same")
    same(packed.layout.padded, expected.layout.padded, "slot boundaries are the same")
    same(packed.max_seqlen, expected.max_seqlen, "the longest segment is the same")
