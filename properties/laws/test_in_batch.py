"""INB: the rows of a padded batch as one packed stream; which tokens arrive, and what stands between them."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from properties.claims import is_deliberate, same
from properties.law import law
from properties.segments import ALIGNMENT_PADDING, TWO_ROWS, at_content, at_padding, pick, real_tokens
from properties.strategies.batches import (
    ROW_MULTIPLES,
    left_padded,
    pad_ids,
    right_padded,
    with_holes,
    with_inner_pad_tokens,
    with_littered_padding,
    with_trailing_pad_tokens,
)
from reference_impl.batches import AnyArray, PaddedBatch, ThdBatch
from reference_impl.documents import BoolArray, IntArray
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Order, PadPositions, PadTokens

NEEDS = {Op.PACK_IN_BATCH}
IGNORED_LABEL = -100


def _real(values: AnyArray | None, batch: PaddedBatch, pad_id: int) -> AnyArray | None:
    """What stands at the real tokens of all rows, in order."""
    return None if values is None else values[real_tokens(batch, pad_id)]


def _keeps_real_tokens(packed: ThdBatch, batch: PaddedBatch, pad_id: int) -> None:
    tokens = at_content(packed.tokens, packed, pad_id)
    same(tokens, _real(batch.tokens, batch, pad_id), "the stream holds every real token once, in order, and padding")


def _keeps_labelled_tokens(packed: ThdBatch, batch: PaddedBatch, real: BoolArray) -> None:
    """Tokens that cannot be told from padding are told by their labels."""
    labels = np.empty(0) if packed.labels is None else packed.labels
    labelled = np.flatnonzero(labels != IGNORED_LABEL)
    expected = None if batch.labels is None else batch.labels[real]
    same(labels[labelled], expected, "the stream holds the label of every real token once, in order")
    tokens = pick(packed.tokens, labelled, "a packed stream has one entry per token in every array")
    same(tokens, batch.tokens[real], "the stream holds every real token beside its label")


def _keeps_real_tokens_or_refuses(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    try:
        packed = implementation.pack_in_batch(batch, multiple, pad_id)
    except Exception as error:
        if is_deliberate(error):
            return
        raise
    _keeps_real_tokens(packed, batch, pad_id)


# Which tokens arrive -------------------------------------------------------------------------------------------------


@law(
    "INB-001",
    needs=NEEDS,
    harm="tokens are lost, trained twice, or attend to another row",
    sources=("P-PERM", "MB-17"),
    activity=TWO_ROWS,
    policy=Order.KEPT,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_every_real_token_is_packed_once_and_in_order(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Apart from padding, the stream holds the real tokens of all right-padded rows, once and in order."""
    _keeps_real_tokens(implementation.pack_in_batch(batch, multiple, pad_id), batch, pad_id)


@law(
    "INB-001",
    facet="left padding",
    needs=NEEDS,
    harm="padding is trained in the place of content",
    sources=("MB-18", "S22", "P-PERM"),
    activity=TWO_ROWS,
)
@given(batch=left_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_tokens_behind_left_padding_are_packed(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Rows whose mask says that they are left-padded keep their real tokens, or are refused."""
    _keeps_real_tokens_or_refuses(implementation, batch, multiple, pad_id)


@law(
    "INB-001",
    facet="hole in the mask",
    needs=NEEDS,
    harm="padding is trained in the place of content",
    sources=("S22", "P-PERM"),
    activity=TWO_ROWS,
)
@given(batch=with_holes(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_tokens_around_a_hole_are_packed(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Rows whose mask has a hole keep the real tokens on both sides of it, or are refused."""
    _keeps_real_tokens_or_refuses(implementation, batch, multiple, pad_id)


@law(
    "INB-001",
    facet="trailing tokens equal to the pad id",
    needs=NEEDS,
    harm="the end of a document is lost where the pad id is also a token",
    sources=("MB-17", "S22", "P-VALUE"),
    activity=TWO_ROWS,
)
@given(batch=with_trailing_pad_tokens(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_mask_is_believed_over_token_values(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """A last token that the mask calls real is kept, with its label, also where it equals the pad id.

    Without a mask such a token cannot be told from padding, so that nothing can be demanded there.
    """
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    _keeps_labelled_tokens(packed, batch, real_tokens(batch, pad_id))


@law(
    "INB-001",
    facet="padding of other tokens than the pad id",
    needs=NEEDS,
    harm="padding is trained where the tokenizer pads with another token than the step expects",
    sources=("MB-17", "P-VALUE"),
    activity=TWO_ROWS,
)
@given(batch=with_littered_padding(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_padding_is_what_the_mask_says(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """What the mask calls padding is left out, whatever token it holds."""
    _keeps_real_tokens(implementation.pack_in_batch(batch, multiple, pad_id), batch, pad_id)


@law(
    "INB-001",
    facet="inner tokens equal to the pad id",
    needs=NEEDS,
    harm="content is dropped where the pad id is also a token",
    sources=("P-VALUE", "P-PERM", "S33"),
    activity=TWO_ROWS,
)
@given(batch=with_inner_pad_tokens(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_inner_tokens_equal_to_the_pad_id_are_packed(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Padding is never inside a row, so that a pad id between two other tokens is content, also without a mask."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    _keeps_labelled_tokens(packed, batch, _up_to_last_other(batch.tokens, pad_id))


def _up_to_last_other(tokens: IntArray, pad_id: int) -> BoolArray:
    """True up to the last token of each row that is not the pad id (B, S)."""
    return np.logical_or.accumulate((tokens != pad_id)[:, ::-1], axis=1)[:, ::-1]


@law(
    "INB-002",
    needs=NEEDS,
    harm="the loss compares a token with the target of another",
    sources=("P-ALIGN", "I7"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_labels_follow_their_tokens(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """The label of a real token stands in the slot of that token."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    labels = at_content(packed.labels, packed, pad_id)
    same(labels, _real(batch.labels, batch, pad_id), "labels stand in the slots of their tokens")


@law(
    "INB-003",
    needs=NEEDS,
    harm="prompts are trained and answers are not",
    sources=("P-MASK", "I7"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_loss_weights_follow_their_tokens(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """The loss weight of a real token stands in the slot of that token."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    weights = at_content(packed.loss_mask, packed, pad_id)
    same(weights, _real(batch.loss_mask, batch, pad_id), "loss weights stand in the slots of their tokens")


@law(
    "INB-004",
    needs=NEEDS,
    harm="tokens are rotated to the place of another",
    sources=("P-POS", "HF-01", "I7"),
    activity=TWO_ROWS,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_positions_follow_their_tokens(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """A real token keeps the position that it had in its row, whatever the first one is."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    positions = at_content(packed.position_ids, packed, pad_id)
    same(positions, _real(batch.position_ids, batch, pad_id), "tokens keep their positions")


# Alignment padding ---------------------------------------------------------------------------------------------------


@law(
    "INB-005",
    needs=NEEDS,
    harm="the model reads tokens that nobody wrote",
    sources=("P-PADDED", "I19", "RL-01"),
    activity=ALIGNMENT_PADDING,
    policy=PadTokens.PAD_ID,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_alignment_padding_holds_the_pad_id(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Slots that hold no real token of the rows hold the pad id."""
    tokens = implementation.pack_in_batch(batch, multiple, pad_id).tokens
    padding = tokens[~np.isin(tokens, batch.tokens[real_tokens(batch, pad_id)])]
    same(padding, np.full(padding.shape, pad_id), "alignment padding holds the pad id")


@law(
    "INB-006",
    needs=NEEDS,
    harm="padding is trained",
    sources=("P-ALIGN", "I19", "RL-01"),
    activity=ALIGNMENT_PADDING,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_alignment_padding_has_no_target(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Slots that hold the pad id have the label -100."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    padding = at_padding(packed.labels, packed, pad_id)
    same(padding, np.full(padding.shape, IGNORED_LABEL), "the label of alignment padding is ignored")


@law(
    "INB-007",
    needs=NEEDS,
    harm="padding is trained, and counted as trained tokens",
    sources=("P-MASK", "RL-01"),
    activity=ALIGNMENT_PADDING,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_alignment_padding_weighs_nothing(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """Slots that hold the pad id have the loss weight 0."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    padding = at_padding(packed.loss_mask, packed, pad_id)
    same(padding, np.zeros(padding.shape), "alignment padding weighs nothing in the loss")


@law(
    "INB-008",
    needs=NEEDS,
    harm="each slot of padding looks like a document of its own",
    sources=("P-POS", "TR-03"),
    activity=ALIGNMENT_PADDING,
    policy=PadPositions.RUN_ON,
)
@given(batch=right_padded(), multiple=ROW_MULTIPLES, pad_id=pad_ids())
def test_positions_run_on_through_alignment_padding(
    implementation: Implementation, batch: PaddedBatch, multiple: int, pad_id: int
) -> None:
    """In alignment padding, each position is that of the slot before plus 1."""
    packed = implementation.pack_in_batch(batch, multiple, pad_id)
    steps = np.diff(packed.position_ids, prepend=-1)
    same(at_padding(steps, packed, pad_id), np.ones(np.count_nonzero(packed.tokens == pad_id)), "positions run on")
