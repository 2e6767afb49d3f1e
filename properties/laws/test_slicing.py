"""CPX: the part of a batch that belongs to one rank of context parallelism, and the way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import refuses, same
from properties.law import Activity, law
from properties.segments import THREE_SEGMENTS_IN_BATCH, owned_slots, position_of, valid_per_segment
from properties.strategies.batches import stream_of, thd_batches
from properties.strategies.layouts import (
    layouts,
    layouts_with_zero_length_segments,
    layouts_without_slots,
    multiples,
    ranks,
    undivisible_layouts,
    worlds,
)
from reference_impl.batches import Layout, ThdBatch
from reference_impl.interface import Implementation, Op

NEEDS = {Op.SLICE_BATCH}
BOTH = {Op.SLICE_BATCH, Op.GATHER}
FULL = layouts(padding="none")
SPLIT = worlds(at_least=2)


def _short_segment(batch: ThdBatch, world: int, **_: object) -> bool:
    return bool(np.any(valid_per_segment(batch.layout) < world))


SHORT_SEGMENT = Activity("a segment of fewer valid tokens than ranks", _short_segment, 0.2)


# One index for every array -------------------------------------------------------------------------------------------


@law(
    "CPX-016",
    facet="tokens",
    needs=NEEDS,
    harm="a rank computes other tokens than its attention kernel assumes",
    sources=("I7", "MB-01", "MB-02"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(FULL), world=worlds(), rank=ranks())
def test_rank_gets_the_tokens_of_its_slots(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """The tokens of a rank are those of its two chunks of every segment."""
    expected = batch.tokens[owned_slots(batch.layout, world, rank)]
    same(implementation.slice_batch(batch, world, rank).tokens, expected, "a rank gets the tokens of its slots")


@law(
    "CPX-016",
    facet="labels",
    needs=NEEDS,
    harm="the loss compares a token with the target of another",
    sources=("I7", "P-SHIFT", "P-ALIGN"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(FULL), world=worlds(), rank=ranks())
def test_rank_gets_the_labels_of_its_slots(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """The labels of a rank are those of its slots in the whole stream: they were shifted before the cut."""
    expected = None if batch.labels is None else batch.labels[owned_slots(batch.layout, world, rank)]
    same(implementation.slice_batch(batch, world, rank).labels, expected, "a rank gets the labels of its slots")


@law(
    "CPX-016",
    facet="loss mask",
    needs=NEEDS,
    harm="prompts are trained and answers are not",
    sources=("I7", "P-MASK"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(FULL), world=worlds(), rank=ranks())
def test_rank_gets_the_loss_weights_of_its_slots(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """The loss weights of a rank are those of its slots."""
    expected = None if batch.loss_mask is None else batch.loss_mask[owned_slots(batch.layout, world, rank)]
    same(implementation.slice_batch(batch, world, rank).loss_mask, expected, "a rank gets the weights of its slots")


@law(
    "CPX-016",
    facet="positions",
    needs=NEEDS,
    harm="tokens are rotated to the place of another",
    sources=("I7", "I12", "P-POS"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(FULL), world=worlds(), rank=ranks())
def test_rank_gets_the_positions_of_its_slots(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """The positions of a rank are those of its slots inside their segments, not local ones."""
    expected = position_of(batch.layout)[owned_slots(batch.layout, world, rank)]
    same(implementation.slice_batch(batch, world, rank).position_ids, expected, "a rank gets global positions")


@law(
    "CPX-017",
    needs=NEEDS,
    harm="ranks without a token of a short document crash",
    sources=("MB-01", "P-TOTAL"),
    activity=SHORT_SEGMENT,
)
@given(batch=thd_batches(layouts(padding="some")), world=worlds(), rank=ranks())
def test_short_segments_give_every_rank_its_share(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """Padding is sliced like tokens, also where a rank owns nothing but padding of a segment."""
    part = implementation.slice_batch(batch, world, rank)
    slots = owned_slots(batch.layout, world, rank)
    same(part.tokens, batch.tokens[slots], "padding is sliced like tokens")
    same(part.position_ids, batch.position_ids[slots], "positions of padding are sliced like those of tokens")


@law(
    "CPX-018",
    needs=NEEDS,
    harm="pipeline stages without a loss crash",
    sources=("I7", "B3b", "P-TOTAL"),
)
@given(batch=thd_batches(FULL, labels="never"), world=worlds(), rank=ranks())
def test_absent_arrays_stay_absent(implementation: Implementation, batch: ThdBatch, world: int, rank: int) -> None:
    """A batch without labels and loss mask is sliced like any other, and has none afterwards."""
    part = implementation.slice_batch(batch, world, rank)
    same(part.labels, None, "labels stay absent")
    same(part.loss_mask, None, "the loss mask stays absent")


@law(
    "CPX-019",
    needs=NEEDS,
    harm="attention kernels, which expect global boundaries, cut documents at local ones",
    sources=("AX-02", "MB-07", "P-BOUND"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(), world=worlds(), rank=ranks())
def test_boundaries_of_a_slice_stay_global(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """A slice carries the boundaries of the whole stream, untouched."""
    layout = implementation.slice_batch(batch, world, rank).layout
    same(layout.valid, batch.layout.valid, "valid boundaries stay global")
    same(layout.padded, batch.layout.padded, "slot boundaries stay global")


@law(
    "CPX-020",
    needs=NEEDS,
    harm="rotary tables are too short",
    sources=("P-MAXSEQ", "VL-02"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(FULL), world=worlds(), rank=ranks())
def test_longest_segment_of_a_slice_stays_global(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """``max_seqlen`` of a slice is that of the whole stream, never divided by the CP size."""
    part = implementation.slice_batch(batch, world, rank)
    same(part.max_seqlen, batch.max_seqlen, "max_seqlen stays global")


# Metamorphic ---------------------------------------------------------------------------------------------------------


@law("CPX-021", needs=NEEDS, harm="runs without context parallelism lose tokens", sources=("I7",))
@given(batch=thd_batches(layouts(multiple=multiples(), padding="none")))
def test_slice_for_a_single_rank_is_the_batch(implementation: Implementation, batch: ThdBatch) -> None:
    """With one rank, its part is the whole batch, whatever the lengths of the segments."""
    _same_batch(implementation.slice_batch(batch, 1, 0), batch)


@law(
    "CPX-022",
    needs=NEEDS,
    harm="tokens move to other ranks because of what they are",
    sources=("I7", "P-VALUE"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(FULL), world=worlds(), rank=ranks())
def test_slicing_commutes_with_renaming_tokens(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int
) -> None:
    """Renaming tokens and slicing gives the same as slicing and renaming, also where names collide."""
    renamed = implementation.slice_batch(replace(batch, tokens=batch.tokens % 3), world, rank)
    same(renamed.tokens, implementation.slice_batch(batch, world, rank).tokens % 3, "slicing does not look at tokens")


@law(
    "CPX-023",
    needs=BOTH,
    harm="log-probabilities are assigned to other tokens",
    sources=("I6", "SL-01", "SL-02"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(FULL), world=worlds())
def test_gathering_undoes_slicing(implementation: Implementation, batch: ThdBatch, world: int) -> None:
    """The parts of all ranks, gathered in order, make the whole batch again."""
    parts = [implementation.slice_batch(batch, world, rank) for rank in range(world)]
    _same_batch(implementation.gather(parts), batch)


@law(
    "CPX-023",
    facet="padded segments",
    needs=BOTH,
    harm="what belongs to padding comes back in the place of tokens",
    sources=("I6", "MB-01", "SL-01"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(layouts(padding="some")), world=worlds())
def test_gathering_undoes_slicing_of_padded_segments(
    implementation: Implementation, batch: ThdBatch, world: int
) -> None:
    """Parts of a stream with padding make the whole batch again, padding included."""
    parts = [implementation.slice_batch(batch, world, rank) for rank in range(world)]
    _same_batch(implementation.gather(parts), batch)


@law(
    "CPX-023",
    facet="absent arrays",
    needs=BOTH,
    harm="pipeline stages without a loss crash",
    sources=("I6", "B3b", "P-TOTAL"),
)
@given(batch=thd_batches(FULL, labels="never"), world=worlds())
def test_gathering_undoes_slicing_without_labels(implementation: Implementation, batch: ThdBatch, world: int) -> None:
    """Parts without labels and loss mask make a whole without them."""
    parts = [implementation.slice_batch(batch, world, rank) for rank in range(world)]
    _same_batch(implementation.gather(parts), batch)


@law(
    "CPX-023",
    facet="zero-length segments",
    needs=BOTH,
    harm="filler segments of a static shape lose tokens or end the run",
    sources=("I6", "I8", "P-TOTAL"),
)
@given(
    batch=thd_batches(layouts_with_zero_length_segments(padding="none") | layouts_without_slots()),
    world=worlds(),
)
def test_gathering_undoes_slicing_beside_zero_length_segments(
    implementation: Implementation, batch: ThdBatch, world: int
) -> None:
    """Parts of a stream with segments of no slot, or of no slot at all, make the whole batch again."""
    parts = [implementation.slice_batch(batch, world, rank) for rank in range(world)]
    _same_batch(implementation.gather(parts), batch)


def _same_batch(batch: ThdBatch, expected: ThdBatch) -> None:
    same(batch.tokens, expected.tokens, "tokens are those of the whole batch")
    same(batch.labels, expected.labels, "labels are those of the whole batch")
    same(batch.loss_mask, expected.loss_mask, "loss weights are those of the whole batch")
    same(batch.position_ids, expected.position_ids, "positions are those of the whole batch")
    same(batch.layout.padded, expected.layout.padded, "slot boundaries are those of the whole batch")


# What must be refused ------------------------------------------------------------------------------------------------


@law("CPX-024", needs=NEEDS, harm="tokens are lost and others are trained twice", sources=("I10", "B1", "B11"))
@given(
    layout=undivisible_layouts("no multiple of W", SPLIT) | undivisible_layouts("only the total is divisible", SPLIT),
    world=SPLIT,
    rank=ranks(SPLIT),
)
def test_batches_of_undivisible_segments_are_refused(
    implementation: Implementation, layout: Layout, world: int, rank: int
) -> None:
    """A batch with a segment that does not have 2W equal chunks is refused."""
    batch = stream_of(layout)
    refuses(lambda: implementation.slice_batch(batch, world, rank), "every segment has 2W equal chunks, or is refused")


@law(
    "CPX-025", needs=NEEDS, harm="tokens behind the last document are lost, or doubled", sources=("I10", "B2", "ML-05")
)
@given(batch=thd_batches(layouts(world=SPLIT, padding="none")), world=SPLIT, rank=ranks(SPLIT), more=st.integers(1, 2))
def test_batches_longer_than_their_boundaries_are_refused(
    implementation: Implementation, batch: ThdBatch, world: int, rank: int, more: int
) -> None:
    """A batch with slots behind its last boundary is refused: nobody owns them."""
    tail = np.arange(2 * world * more)
    longer = replace(
        batch,
        tokens=np.append(batch.tokens, tail),
        labels=np.append(np.empty(0, dtype=np.int64) if batch.labels is None else batch.labels, tail),
        loss_mask=np.append(np.empty(0) if batch.loss_mask is None else batch.loss_mask, tail),
        position_ids=np.append(batch.position_ids, tail),
    )
    refuses(lambda: implementation.slice_batch(longer, world, rank), "boundaries end where the stream ends")
