"""INB: what the VLM training step makes of a micro batch. It derives the multiple itself and pads with id 0."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.carried import carries_boundaries_of_32_bits, carries_its_longest_segment, carries_its_segments
from properties.claims import is_deliberate, refuses, same
from properties.law import law
from properties.segments import (
    TWO_ROWS,
    at_content,
    cumulative,
    packed_layout,
    real_tokens,
    row_lengths,
    slots_per_segment,
)
from properties.strategies.batches import (
    left_padded,
    parallelisms,
    right_padded,
    with_empty_rows,
    with_holes,
    with_only_empty_rows,
    with_trailing_pad_tokens,
)
from reference_impl.batches import PaddedBatch, Parallelism, ThdBatch
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Boundaries, EmptyRow

NEEDS = {Op.VLM_STEP}
PAD_ID = 0
ZERO = st.just(PAD_ID)


def required_multiple(parallelism: Parallelism) -> int:
    """What every segment must be divisible by: 2W chunks, and with sequence parallelism CP * TP equal parts."""
    for_context = 2 * parallelism.context if parallelism.context > 1 else 1
    return math.lcm(for_context, parallelism.context * parallelism.tensor if parallelism.sequence_parallel else 1)


def _keeps_real_tokens(packed: ThdBatch, batch: PaddedBatch) -> None:
    tokens = at_content(packed.tokens, packed, PAD_ID)
    expected = batch.tokens[real_tokens(batch, PAD_ID)]
    same(tokens, expected, "the stream holds every real token once, in order, and padding")


def _keeps_real_tokens_or_refuses(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    try:
        packed = implementation.vlm_step(batch, parallelism)
    except Exception as error:
        if is_deliberate(error):
            return
        raise
    _keeps_real_tokens(packed, batch)


# Alignment -----------------------------------------------------------------------------------------------------------


@law(
    "INB-019",
    needs=NEEDS,
    harm="context parallelism cannot cut the segments",
    sources=("P-PADDED", "I19", "MB-17"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms(context=(2, 3, 4)))
def test_vlm_segments_can_be_cut_for_context_parallelism(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """With context parallelism, the slots of every segment are a multiple of 2 * CP."""
    slots = slots_per_segment(implementation.vlm_step(batch, parallelism).layout)
    same(slots % (2 * parallelism.context), np.zeros(slots.shape), "every segment has 2 * CP equal chunks")


@law(
    "INB-020",
    needs=NEEDS,
    harm="sequence parallelism cannot scatter the stream",
    sources=("P-PADDED", "I19", "MB-17", "ML-06"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms(sequence_parallel=(True,)))
def test_vlm_segments_can_be_scattered_for_sequence_parallelism(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """With sequence parallelism, the slots of every segment are a multiple of CP * TP."""
    parts = parallelism.context * parallelism.tensor
    slots = slots_per_segment(implementation.vlm_step(batch, parallelism).layout)
    same(slots % parts, np.zeros(slots.shape), "every segment has CP * TP equal parts")


@law(
    "INB-021",
    needs=NEEDS,
    harm="memory and time go to padding that nothing asks for",
    sources=("I19", "MB-17"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms(context=(2, 3, 4)))
def test_vlm_segments_have_no_more_padding_than_needed(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """With context parallelism, segments end at the next multiple of lcm(2 * CP, CP * TP), or of 2 * CP."""
    expected = packed_layout(batch, required_multiple(parallelism), PAD_ID).padded
    same(implementation.vlm_step(batch, parallelism).layout.padded, expected, "segments end at the next multiple")


@law(
    "INB-021",
    facet="no context parallelism",
    needs=NEEDS,
    harm="memory and time go to padding that nothing asks for",
    sources=("I19", "MB-17"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), tensor=st.sampled_from((1, 2, 4)), sequence_parallel=st.booleans())
def test_vlm_segments_are_not_padded_for_one_context_rank(
    implementation: Implementation, batch: PaddedBatch, tensor: int, sequence_parallel: bool
) -> None:
    """Without context parallelism, segments are padded for sequence parallelism or not at all."""
    parallelism = Parallelism(tensor=tensor, sequence_parallel=sequence_parallel)
    expected = packed_layout(batch, tensor if sequence_parallel else 1, PAD_ID).padded
    same(implementation.vlm_step(batch, parallelism).layout.padded, expected, "segments end at the next multiple")


# Tokens --------------------------------------------------------------------------------------------------------------


@law(
    "INB-022",
    needs=NEEDS,
    harm="tokens are lost, trained twice, or attend to another row",
    sources=("P-PERM", "MB-17"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms())
def test_vlm_step_packs_every_real_token_once_and_in_order(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Apart from padding, the stream holds the real tokens of all right-padded rows, once and in order."""
    _keeps_real_tokens(implementation.vlm_step(batch, parallelism), batch)


@law(
    "INB-022",
    facet="left padding",
    needs=NEEDS,
    harm="padding is trained in the place of content",
    sources=("MB-18", "S22", "P-PERM"),
    activity=TWO_ROWS,
)
@given(batch=left_padded(ZERO), parallelism=parallelisms())
def test_vlm_step_packs_tokens_behind_left_padding(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Rows whose mask says that they are left-padded keep their real tokens, or are refused."""
    _keeps_real_tokens_or_refuses(implementation, batch, parallelism)


@law(
    "INB-022",
    facet="hole in the mask",
    needs=NEEDS,
    harm="padding is trained in the place of content",
    sources=("S22", "P-PERM"),
)
@given(batch=with_holes(ZERO), parallelism=parallelisms())
def test_vlm_step_packs_tokens_around_a_hole(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Rows whose mask has a hole keep the real tokens on both sides of it, or are refused."""
    _keeps_real_tokens_or_refuses(implementation, batch, parallelism)


@law(
    "INB-022",
    facet="trailing tokens equal to the pad id",
    needs=NEEDS,
    harm="the end of a document is lost where 0 is also a token",
    sources=("MB-17", "S22", "P-VALUE"),
    activity=TWO_ROWS,
)
@given(batch=with_trailing_pad_tokens(ZERO), parallelism=parallelisms())
def test_vlm_step_believes_the_mask_over_token_values(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """A last token that the mask calls real is kept, also where it is 0; without a mask nothing can be demanded."""
    labels = implementation.vlm_step(batch, parallelism).labels
    expected = None if batch.labels is None else batch.labels[real_tokens(batch, PAD_ID)]
    same(None if labels is None else labels[labels != -100], expected, "every real token keeps its label")


@law(
    "INB-022",
    facet="empty rows",
    needs=NEEDS,
    harm="a row without content shifts or ends the batch",
    sources=("S22", "P-TOTAL"),
    policy=EmptyRow.LEFT_OUT,
)
@given(batch=with_empty_rows(ZERO), parallelism=parallelisms())
def test_vlm_step_leaves_out_empty_rows(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Rows without a real token contribute no segment and no token."""
    packed = implementation.vlm_step(batch, parallelism)
    segments = row_lengths(batch, PAD_ID).size
    same(packed.layout.padded.size - 1, segments, "there is one segment for each row that is not empty")
    _keeps_real_tokens(packed, batch)


@law(
    "INB-022",
    facet="only empty rows",
    needs=NEEDS,
    harm="a micro batch without content ends the run",
    sources=("VL-03", "S19", "P-TOTAL"),
    policy=EmptyRow.LEFT_OUT,
)
@given(batch=with_only_empty_rows(ZERO), parallelism=parallelisms())
def test_vlm_step_makes_an_empty_stream_of_empty_rows(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """A micro batch without any real token becomes a stream of no slot, whose boundaries are ``[0]``."""
    packed = implementation.vlm_step(batch, parallelism)
    same(packed.tokens.size, 0, "the stream has no slot")
    same(packed.layout.padded, np.zeros(1), "the boundaries are those of no segment")


@law(
    "INB-022",
    facet="empty rows declared refused",
    needs=NEEDS,
    harm="a row vanishes while its images stay, and every later image goes to another document",
    sources=("S22", "P-TOTAL"),
    policy=EmptyRow.REFUSED,
)
@given(batch=with_empty_rows(ZERO), parallelism=parallelisms())
def test_vlm_step_refuses_empty_rows_where_that_is_declared(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """A micro batch with a row without a real token is refused with an error that says so."""
    refuses(lambda: implementation.vlm_step(batch, parallelism), "a micro batch with an empty row is refused")


@law("INB-023", needs=NEEDS, harm="pipeline stages without a loss crash", sources=("MB-21", "P-TOTAL"))
@given(batch=right_padded(ZERO, labels="never"), parallelism=parallelisms())
def test_vlm_step_packs_batches_without_labels(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """A micro batch without labels and loss mask is packed like any other, and has none afterwards."""
    packed = implementation.vlm_step(batch, parallelism)
    same(packed.labels, None, "labels stay absent")
    same(packed.loss_mask, None, "the loss mask stays absent")


@law(
    "INB-024",
    needs=NEEDS | {Op.PACK_IN_BATCH},
    harm="the step trains on other tokens than the packer is tested with",
    sources=("P-EQUIV",),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms())
def test_vlm_step_is_in_batch_packing_with_its_multiple(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """The step's stream is that of in-batch packing with the required multiple and pad id 0, in every array."""
    packed = implementation.vlm_step(batch, parallelism)
    expected = implementation.pack_in_batch(batch, required_multiple(parallelism), PAD_ID)
    same(packed.tokens, expected.tokens, "tokens are those of in-batch packing")
    same(packed.labels, expected.labels, "labels are those of in-batch packing")
    same(packed.loss_mask, expected.loss_mask, "loss weights are those of in-batch packing")
    same(packed.position_ids, expected.position_ids, "positions are those of in-batch packing")
    same(packed.max_seqlen, expected.max_seqlen, "the longest segment is that of in-batch packing")


# Boundaries that are handed over -------------------------------------------------------------------------------------


@law(
    "INB-027",
    facet="valid lengths are known",
    needs=NEEDS,
    harm="padding is attended to, routed to experts and counted as tokens",
    sources=("P-PADDED", "ML-30", "MB-29"),
    activity=TWO_ROWS,
    policy=Boundaries.SLOTS_AND_VALID,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms())
def test_vlm_boundaries_tell_real_tokens_from_padding(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Beside the slots, the boundaries of the step say how many tokens of each segment are real."""
    expected = cumulative(int(length) for length in row_lengths(batch, PAD_ID))
    valid = implementation.vlm_step(batch, parallelism).layout.valid
    same(valid, expected, "valid boundaries count the real tokens of each row")


@law(
    "INB-028",
    needs=NEEDS,
    harm="the kernel is given other segments than the stream has",
    sources=("P-BOUND", "P-STAGE"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms())
def test_boundaries_that_the_vlm_step_hands_over_are_those_of_its_segments(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Cut at their sentinels, the boundaries that the step hands over begin with those of its segments."""
    carries_its_segments(implementation.vlm_step(batch, parallelism))


@law(
    "INB-029",
    needs=NEEDS,
    harm="rotary tables are too short, or the kernel skips the end of long documents",
    sources=("P-MAXSEQ",),
    activity=TWO_ROWS,
)
@given(batch=right_padded(ZERO), parallelism=parallelisms())
def test_max_seqlen_that_the_vlm_step_hands_over_is_its_longest_segment(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Every max_seqlen that the step hands over is the longest segment in slots, its padding included."""
    carries_its_longest_segment(implementation.vlm_step(batch, parallelism))


@law("INB-030", needs=NEEDS, harm="the kernel refuses the boundaries", sources=("P-BOUND", "B10"))
@given(batch=right_padded(ZERO), parallelism=parallelisms())
def test_boundaries_that_the_vlm_step_hands_over_are_32_bit(
    implementation: Implementation, batch: PaddedBatch, parallelism: Parallelism
) -> None:
    """Boundary arrays that the step hands over hold 32-bit numbers."""
    carries_boundaries_of_32_bits(implementation.vlm_step(batch, parallelism))
