"""LOS: the loss of a step and the scale of its gradients, whatever micro batches and ranks its tokens came to."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.claims import holds, near, refuses, same
from properties.law import Activity, law
from properties.segments import THREE_SEGMENTS, is_padding
from properties.strategies.layouts import layouts, worlds
from properties.strategies.numerics import numbers, seeds
from reference_impl.batches import Layout
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import LossPart

NEEDS = {Op.REDUCE_LOSS}
Parts = tuple[LossPart, ...]
Masks = list[list[int]]


def _parts(masks: Masks, seed: int, untrained: float = 0.5) -> Parts:
    """Parts with these masks; slots without weight have the loss ``untrained``."""
    drawn = [(np.array(mask, dtype=np.float64), 2 + numbers((len(mask),), seed + at)) for at, mask in enumerate(masks)]
    return tuple(LossPart(np.where(mask == 1, losses, untrained), mask) for mask, losses in drawn)


@cache
def masks(*, trained: bool = True) -> SearchStrategy[Masks]:
    """Loss masks of one to five parts of one to six slots.

    Args:
        trained: every part trains a token.
    """
    weight: SearchStrategy[int] = st.sampled_from((1, 0, 1))
    part: SearchStrategy[list[int]] = st.lists(weight, min_size=1, max_size=6)
    part = part.filter(any) if trained else part
    return st.integers(1, 5).flatmap(lambda count: st.lists(part, min_size=count, max_size=5))


def _untrained(masks: Masks, **_: object) -> bool:
    return any(0 in mask for mask in masks)


def _two_parts(masks: Masks, **_: object) -> bool:
    return len(masks) > 1


def _unequal(masks: Masks, **_: object) -> bool:
    return len({sum(mask) for mask in masks}) > 1


UNEQUAL = Activity("parts with different numbers of trained tokens", _unequal, 0.4)


def _trained(parts: Parts) -> list[float]:
    return [float(loss) for part in parts for loss in part.losses[part.weights == 1]]


def _is_the_mean_over_tokens(implementation: Implementation, parts: Parts) -> None:
    reduced = implementation.reduce_loss(parts)
    losses = _trained(parts)
    near(np.float64(reduced.loss), np.array(sum(losses) / len(losses)), "the loss is the mean over trained tokens")


@law(
    "LOS-001",
    needs=NEEDS,
    harm="tokens of short micro batches weigh more than others, and the optimum is another one",
    sources=("I16", "P-SCALE", "MB-40"),
    activity=UNEQUAL,
)
@given(masks=masks(), seed=seeds())
def test_loss_is_the_mean_over_trained_tokens(implementation: Implementation, masks: Masks, seed: int) -> None:
    """The loss is the sum over all trained tokens divided by their number, not a mean of means."""
    _is_the_mean_over_tokens(implementation, _parts(masks, seed))


@law(
    "LOS-001",
    facet="a part without a trained token",
    needs=NEEDS,
    harm="a rank that owns only prompts makes the loss NaN",
    sources=("I16", "MB-40", "ML-11", "P-NAN"),
)
@given(masks=masks(), empty=st.integers(1, 4), at=st.integers(0, 5), seed=seeds())
def test_parts_without_a_trained_token_do_not_count(
    implementation: Implementation, masks: Masks, empty: int, at: int, seed: int
) -> None:
    """A part without a trained token, as a rank that owns only prompts, adds nothing."""
    _is_the_mean_over_tokens(implementation, _parts([*masks[:at], [0] * empty, *masks[at:]], seed))


@law(
    "LOS-001",
    facet="NaN at padding",
    needs=NEEDS,
    harm="uninitialised padding makes the loss NaN",
    sources=("I16", "P-NAN", "P-MASK"),
    activity=Activity("an untrained slot", _untrained, 0.4),
)
@given(masks=masks(), seed=seeds())
def test_untrained_slots_may_hold_anything(implementation: Implementation, masks: Masks, seed: int) -> None:
    """NaN where nothing is trained leaves the loss as it is."""
    _is_the_mean_over_tokens(implementation, _parts(masks, seed, untrained=np.nan))


@law(
    "LOS-002",
    needs=NEEDS,
    harm="gradients are divided by a wrong number of tokens",
    sources=("I16", "P-MASK"),
    activity=UNEQUAL,
)
@given(masks=masks(trained=False), seed=seeds())
def test_tokens_of_all_parts_are_counted(implementation: Implementation, masks: Masks, seed: int) -> None:
    """The number of tokens is that of all slots that are trained on."""
    reduced = implementation.reduce_loss(_parts(masks, seed))
    same(reduced.tokens, sum(sum(mask) for mask in masks), "every trained token is counted once")


@law(
    "LOS-003",
    needs=NEEDS,
    harm="the effective learning rate depends on the number of ranks",
    sources=("I16", "ML-15", "ML-16", "P-SCALE"),
    activity=UNEQUAL,
)
@given(masks=masks(), seed=seeds())
def test_every_gradient_is_divided_by_all_tokens(implementation: Implementation, masks: Masks, seed: int) -> None:
    """The gradient of every part's summed loss is divided by the number of all tokens, and by nothing else."""
    scales = implementation.reduce_loss(_parts(masks, seed)).scales
    expected = np.full(len(masks), 1 / sum(sum(mask) for mask in masks))
    near(scales, expected, "gradients are divided by the number of all tokens, once")


@law(
    "LOS-004",
    needs=NEEDS,
    harm="training depends on how documents were packed",
    sources=("I16", "P-SCALE"),
    activity=UNEQUAL,
)
@given(masks=masks(), seed=seeds(), cut=st.integers(0, 5))
def test_the_split_into_parts_does_not_matter(
    implementation: Implementation, masks: Masks, seed: int, cut: int
) -> None:
    """All tokens in one part, or the first part cut in two: loss, tokens and scale are the same."""
    parts = _parts(masks, seed)
    whole = LossPart(np.concatenate([part.losses for part in parts]), np.concatenate([part.weights for part in parts]))
    halves = [LossPart(parts[0].losses[half], parts[0].weights[half]) for half in (slice(cut), slice(cut, None))]
    one, many = implementation.reduce_loss((whole,)), implementation.reduce_loss((*halves, *parts[1:]))
    near(np.float64(many.loss), np.array(one.loss), "the split into parts does not change the loss")
    same(many.tokens, one.tokens, "the split into parts does not change the number of tokens")
    near(many.scales, np.full(len(parts) + 1, one.scales[0]), "the split into parts does not change gradients")


@law(
    "LOS-005",
    needs=NEEDS | {Op.PARTITION},
    harm="training depends on the CP size",
    sources=("I16", "ML-15", "P-SCALE"),
    activity=THREE_SEGMENTS,
)
@given(layout=layouts(padding="some"), world=worlds(), seed=seeds())
def test_loss_does_not_depend_on_the_number_of_context_ranks(
    implementation: Implementation, layout: Layout, world: int, seed: int
) -> None:
    """Cut for any number of context ranks, a stream has the loss, tokens and scale that it has uncut."""
    weights = (~is_padding(layout)).astype(np.float64)
    losses = 2 + numbers(weights.shape, seed)
    slots = [implementation.partition(layout, world, rank) for rank in range(world)]
    same(np.sort(np.concatenate(slots)), np.arange(weights.size), "over all ranks, every slot is owned once")
    cut = implementation.reduce_loss(tuple(LossPart(losses[own], weights[own]) for own in slots))
    uncut = implementation.reduce_loss((LossPart(losses, weights),))
    near(np.float64(cut.loss), np.array(uncut.loss), "the loss does not depend on the CP size")
    near(cut.scales, np.full(world, uncut.scales[0]), "gradients do not depend on the CP size")


@law(
    "LOS-006",
    facet="nothing is trained",
    needs=NEEDS,
    harm="a step without a trained token turns all weights into NaN",
    sources=("I16", "ML-11", "P-NAN"),
)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), seed=seeds())
def test_step_without_a_trained_token_changes_nothing(
    implementation: Implementation, sizes: list[int], seed: int
) -> None:
    """Without a trained token, the loss is 0 and scales are finite."""
    reduced = implementation.reduce_loss(_parts([[0] * size for size in sizes], seed))
    same((reduced.loss, reduced.tokens), (0.0, 0), "nothing is lost where nothing is trained")
    holds(np.isfinite(reduced.scales).all(), "scales are finite", got=reduced.scales)


@law("LOS-007", needs=NEEDS, harm="weights of another batch decide what is trained", sources=("I16", "P-MASK"))
@given(masks=masks(), seed=seeds(), more=st.integers(1, 3))
def test_masks_of_another_length_are_refused(
    implementation: Implementation, masks: Masks, seed: int, more: int
) -> None:
    """A mask that is longer than its losses is refused."""
    parts = _parts(masks, seed)
    longer = LossPart(parts[0].losses, np.ones(parts[0].losses.size + more))
    refuses(lambda: implementation.reduce_loss((longer, *parts[1:])), "masks are as long as losses, or refused")


@law(
    "LOS-008",
    needs=NEEDS,
    harm="the first rank or micro batch counts more than others",
    sources=("I16", "P-DET"),
    activity=Activity("two or more parts", _two_parts, 0.4),
)
@given(masks=masks(trained=False), seed=seeds())
def test_the_order_of_parts_does_not_matter(implementation: Implementation, masks: Masks, seed: int) -> None:
    """In reverse order, parts have the same loss and the same number of tokens."""
    parts = _parts(masks, seed)
    straight, reverse = implementation.reduce_loss(parts), implementation.reduce_loss(parts[::-1])
    near(np.float64(reverse.loss), np.array(straight.loss), "the order of parts does not matter")
    same(reverse.tokens, straight.tokens, "the order of parts does not matter")
