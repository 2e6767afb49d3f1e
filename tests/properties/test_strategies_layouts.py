"""The adversarial inputs really are drawn, and they are what they are called."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.segments import (
    is_padding,
    real_tokens,
    segment_of,
    slots_per_segment,
    total_slots,
    true_entries,
    valid_per_segment,
)
from properties.strategies import batches, layouts
from reference_impl.batches import BoundaryMetadata, Layout, PaddedBatch, ThdBatch

FEW = settings(max_examples=60, database=None, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=2_000, phases=(Phase.generate,))
PAD_ID = 7
PAD = st.just(PAD_ID)


def drawn[T](strategy: SearchStrategy[T], condition: Callable[[T], Any]) -> T:
    """An example for which the condition holds.

    Raises:
        NoSuchExample: none of 2000 does.
    """
    return find(strategy, lambda value: bool(condition(value)), settings=MANY)


# Layouts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "valid",
    [
        lambda slots, valid: (valid == 0) & (slots > 0),
        lambda slots, valid: (valid == 1) & (slots > 2),
        lambda slots, valid: 2 * valid == slots,
        lambda slots, valid: valid == slots - 1,
        lambda slots, valid: valid == slots,
        lambda slots, valid: (valid > 1) & (valid < slots - 1) & (2 * valid != slots),
    ],
    ids=["none", "one", "half", "all but one", "all", "some"],
)
def test_segments_have_remarkable_valid_lengths(valid: Callable[[Any, Any], Any]) -> None:
    drawn(layouts.layouts(), lambda layout: np.any(valid(slots_per_segment(layout), valid_per_segment(layout))))


@given(layout=layouts.layouts(), world=layouts.worlds(), rank=layouts.ranks())
@FEW
def test_layout_world_and_rank_belong_together(layout: Layout, world: int, rank: int) -> None:
    assert not np.any(slots_per_segment(layout) % (2 * world))
    assert 0 <= rank < world
    assert np.all(valid_per_segment(layout) <= slots_per_segment(layout))


@pytest.mark.parametrize("world", layouts.WORLDS)
def test_every_world_is_drawn(world: int) -> None:
    drawn(layouts.worlds(), lambda size: size == world)


@pytest.mark.parametrize("segments", range(1, layouts.MOST_SEGMENTS + 1))
def test_every_number_of_segments_is_drawn(segments: int) -> None:
    drawn(layouts.layouts(), lambda layout: layout.padded.size == segments + 1)


@pytest.mark.parametrize(
    "where",
    [
        lambda empty: empty[0],
        lambda empty: empty[-1],
        lambda empty: np.any(empty[1:-1]) and not empty[0] and not empty[-1],
        lambda empty: np.count_nonzero(empty) > 1,
    ],
    ids=["leading", "trailing", "inner", "several"],
)
def test_zero_length_segments_are_everywhere(where: Callable[[Any], Any]) -> None:
    drawn(layouts.layouts_with_zero_length_segments(), lambda layout: where(slots_per_segment(layout) == 0))


def test_streams_without_slots_have_no_segment_or_empty_ones() -> None:
    drawn(layouts.layouts_without_slots(), lambda layout: layout.padded.size == 1)
    drawn(layouts.layouts_without_slots(), lambda layout: layout.padded.size > 2)


@given(layout=layouts.layouts(padding="tail"))
@FEW
def test_only_the_last_segment_is_padded(layout: Layout) -> None:
    assert np.array_equal(layout.valid[:-1], layout.padded[:-1])
    assert layout.valid[-1] < layout.padded[-1]


@given(layout=layouts.layouts(padding="inner"))
@FEW
def test_a_segment_before_the_last_one_is_padded(layout: Layout) -> None:
    assert not np.array_equal(layout.valid[:-1], layout.padded[:-1])


@given(layout=layouts.layouts_beyond_int32())
@FEW
def test_boundaries_exceed_32_bits(layout: Layout) -> None:
    assert layout.padded[-1] > np.iinfo(np.int32).max


SPLIT = layouts.worlds(at_least=2)


@pytest.mark.parametrize("kind", ["no multiple of W", "odd multiple of W", "only the total is divisible"])
def test_undivisible_layouts_are_what_they_are_called(kind: layouts.Undivisible) -> None:
    @given(layout=layouts.undivisible_layouts(kind, SPLIT), world=SPLIT)
    @FEW
    def check(layout: Layout, world: int) -> None:
        rests = slots_per_segment(layout) % (2 * world)
        assert rests.any()
        assert (kind == "only the total is divisible") == (total_slots(layout) % (2 * world) == 0)
        assert (kind == "odd multiple of W") == bool(np.all(rests % world == 0))

    check()


def test_a_segment_may_be_shorter_than_two_per_rank() -> None:
    of_eight = layouts.undivisible_layouts("no multiple of W", st.just(8))
    drawn(of_eight, lambda layout: slots_per_segment(layout).min() < 8)


def test_broken_boundaries_decrease_or_do_not_start_at_zero() -> None:
    drawn(layouts.decreasing_layouts(), lambda layout: np.any(slots_per_segment(layout) < 0))
    drawn(layouts.layouts_not_from_zero(), lambda layout: layout.padded[0] > 0)


# Packed streams ------------------------------------------------------------------------------------------------------


@given(batch=batches.thd_batches())
@FEW
def test_every_slot_has_an_identity(batch: ThdBatch) -> None:
    assert batch.labels is not None
    assert batch.loss_mask is not None
    assert np.array_equal(batch.tokens // batches.FIRST_TOKEN - 1, segment_of(batch.layout))
    assert np.unique(np.concatenate([batch.tokens, batch.labels])).size == 2 * batch.tokens.size
    assert np.unique(batch.loss_mask).size == batch.tokens.size
    assert not batch.raw


def test_labels_may_be_absent() -> None:
    assert drawn(batches.thd_batches(labels="sometimes"), lambda batch: batch.labels is None).loss_mask is None


# Padded batches ------------------------------------------------------------------------------------------------------


def lengths(batch: PaddedBatch) -> Any:
    return real_tokens(batch, PAD_ID).sum(axis=1)


@pytest.mark.parametrize(
    ("strategy", "condition"),
    [
        (batches.right_padded(PAD), lambda batch: batch.padding_mask is None),
        (batches.right_padded(PAD), lambda batch: batch.padding_mask is not None),
        (batches.right_padded(PAD), lambda batch: lengths(batch).min() == 1 and batch.tokens.shape[1] > 4),
        (batches.right_padded(PAD), lambda batch: batch.position_ids[0, 0] > 0),
        (batches.right_padded(PAD, labels="never"), lambda batch: batch.labels is batch.loss_mask is None),
        (
            batches.left_padded(PAD),
            lambda batch: not batch.padding_mask[:, 0].any() and batch.padding_mask[:, -1].all(),
        ),
        (batches.with_holes(PAD), lambda batch: np.count_nonzero(np.diff(batch.padding_mask[0].astype(int))) > 1),
        (batches.with_empty_rows(PAD), lambda batch: lengths(batch)[0] == 0 < lengths(batch)[-1]),
        (batches.with_empty_rows(PAD), lambda batch: lengths(batch)[-1] == 0 < lengths(batch)[0]),
        (batches.with_only_empty_rows(PAD), lambda batch: not lengths(batch).any() and batch.tokens.shape[0] > 1),
        (batches.with_trailing_pad_tokens(PAD), lambda batch: np.any((batch.tokens == PAD_ID) & batch.padding_mask)),
        (batches.with_inner_pad_tokens(PAD), lambda batch: batch.tokens[0, 1] == PAD_ID != batch.tokens[0, 2]),
        (batches.with_littered_padding(PAD), lambda batch: not np.any(batch.tokens == PAD_ID)),
    ],
)
def test_adversarial_batches_are_drawn(
    strategy: SearchStrategy[PaddedBatch], condition: Callable[[PaddedBatch], Any]
) -> None:
    drawn(strategy, condition)


@given(batch=batches.right_padded(PAD))
@FEW
def test_junk_behind_rows_can_be_told_from_content(batch: PaddedBatch) -> None:
    assert batch.labels is not None
    assert batch.loss_mask is not None
    padding = ~real_tokens(batch, PAD_ID)
    assert np.all(batch.labels[padding] < 0)
    assert not np.isin(batch.labels[padding], -100).any()
    assert np.all(batch.loss_mask[padding] < 0)


# Boundaries on their way to a kernel ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "condition"),
    [
        (batches.boundary_metadata(), lambda told: told.argmin is None and (told.cu_seqlens == -1).any()),
        (batches.boundary_metadata(), lambda told: told.argmin is not None and not (told.cu_seqlens == -1).any()),
        (batches.boundary_metadata(), lambda told: told.cu_seqlens_unpadded is None),
        (batches.boundary_metadata(), lambda told: (told.argmin is None) != (told.unpadded_argmin is None)),
        (batches.boundary_metadata(), lambda told: true_entries(told.cu_seqlens).size == 2),
        (batches.boundary_metadata(), lambda told: true_entries(told.cu_seqlens).size > 5),
        (batches.boundary_metadata(), lambda told: told.max_seqlen is None),
        (batches.boundary_metadata(), lambda told: told.total_tokens is None),
        (batches.boundary_metadata(batch_dimension=(True,)), lambda told: told.cu_seqlens.shape[0] == 1),
        (
            batches.boundary_metadata(ends=batches.OPEN, unpadded="absent"),
            lambda told: told.argmin is None and not (told.cu_seqlens == -1).any(),
        ),
        (
            batches.boundary_metadata(totals=("below",)),
            lambda told: told.total_tokens < true_entries(told.cu_seqlens)[-1],
        ),
    ],
)
def test_adversarial_metadata_is_drawn(
    strategy: SearchStrategy[BoundaryMetadata], condition: Callable[[BoundaryMetadata], Any]
) -> None:
    drawn(strategy, condition)


@given(told=batches.boundary_metadata(unpadded="present"))
@FEW
def test_valid_lengths_differ_from_slots_where_they_are_present(told: BoundaryMetadata) -> None:
    assert told.cu_seqlens_unpadded is not None
    valid, padded = true_entries(told.cu_seqlens_unpadded), true_entries(told.cu_seqlens)
    layout = Layout(valid.astype(np.int64), padded.astype(np.int64))
    assert is_padding(layout).any()
    assert told.argmin in (None, padded.size)
    assert told.unpadded_argmin in (None, valid.size)
