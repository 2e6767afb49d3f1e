"""The tiny model: its weights, and what a training step is made of. What a step gives: test_packed_equals_unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from reference_impl.batches import Layout, ThdBatch
from reference_impl.errors import PackingError
from reference_impl.loss import reduce_loss
from reference_impl.ranks import Exchange, LossPart, ReducedLoss
from reference_impl.tiny_model import MicroBatch, Step, TinyModel, TinySize, micro_batch, train_step

SIZE = TinySize(vocabulary=50, positions=40, width=12, heads=4, taps=2)
RECURRENT = replace(SIZE, recurrent=True)


def stream(slots: int) -> ThdBatch:
    """One document without padding, all of it trained."""
    tokens, bounds = np.arange(slots), np.array([0, slots])
    return ThdBatch(tokens, tokens[::-1].copy(), np.ones(slots), tokens, Layout(bounds, bounds), slots)


def step_of(*replicas: Sequence[MicroBatch], size: TinySize = SIZE) -> tuple[Step, list[LossPart]]:
    """A step, and the parts that its loss was reduced from."""
    given: list[LossPart] = []

    def reduce(parts: Sequence[LossPart]) -> ReducedLoss:
        given.extend(parts)
        return reduce_loss(parts)

    return train_step(TinyModel(size), replicas, reduce), given


def test_weights_have_the_shapes_that_the_size_asks_for() -> None:
    shapes = {
        "embedding": (50, 12),
        "position": (40, 12),
        "qkv": (12, 36),
        "projection": (12, 12),
        "up": (12, 24),
        "down": (24, 12),
        "head": (12, 50),
    }
    recurrent = {"gates": (12, 24), "taps": (2, 12)}
    for size, expected in ((SIZE, shapes), (RECURRENT, shapes | recurrent)):
        assert {name: tuple(weight.shape) for name, weight in TinyModel(size).named_parameters()} == expected


def test_weights_have_a_variance_of_one_over_their_first_size() -> None:
    """What is multiplied with them stays as large. The deviation of n normal draws errs by 1 / sqrt(2 n) of itself."""
    size = TinySize(vocabulary=1000, positions=500, width=200, taps=3, recurrent=True)
    for name, weight in TinyModel(size).named_parameters():
        ratio = weight.std().item() * weight.shape[0] ** 0.5
        assert abs(ratio - 1) < 4 / (2 * weight.numel()) ** 0.5, name


def test_weights_depend_on_the_seed_and_on_nothing_else() -> None:
    drawn = []
    for ambient, seed in ((1, 7), (2, 7), (1, 8)):
        torch.manual_seed(ambient)
        before = torch.get_rng_state()
        drawn.append(TinyModel(SIZE, seed).get_parameter("qkv"))
        assert torch.equal(torch.get_rng_state(), before)
    first, again, other = drawn
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_weights_of_another_dtype_are_those_of_float64_rounded(dtype: torch.dtype) -> None:
    models = (TinyModel(RECURRENT), TinyModel(RECURRENT, dtype=dtype))
    for exact, rounded in zip(*(model.parameters() for model in models), strict=True):
        assert rounded.dtype == dtype
        assert torch.equal(rounded, exact.to(dtype))
        assert not torch.equal(rounded.double(), exact), "the digits of float64 are there to be rounded"


@pytest.mark.parametrize("size", [SIZE, RECURRENT])
def test_every_weight_is_trained(size: TinySize) -> None:
    step, _ = step_of([micro_batch(stream(8))], size=size)
    assert step.gradients.keys() == dict(TinyModel(size).named_parameters()).keys()
    assert all(gradient.any() for gradient in step.gradients.values())


def test_parts_of_the_loss_are_the_ranks_of_the_micro_batches_of_the_replicas() -> None:
    step, parts = step_of([micro_batch(stream(8), 2), micro_batch(stream(3))], [micro_batch(stream(16), 4)])
    assert [part.losses.size for part in parts] == [4, 4, 3, 4, 4, 4, 4]
    assert step.tokens == 27


def test_ranks_share_attention_by_the_exchange_that_is_asked_for() -> None:
    """Only where heads are exchanged must the ranks divide their number."""
    steps = [step_of([micro_batch(stream(12), 3, way)])[0] for way in (Exchange.RING, Exchange.ALL_GATHER)]
    assert steps[0].loss == pytest.approx(steps[1].loss, rel=1e-12)
    with pytest.raises(PackingError, match=r"^q_THD = 4: .* 3 ranks"):
        step_of([micro_batch(stream(12), 3, Exchange.ALL_TO_ALL)])


@pytest.mark.parametrize("missing", ["labels", "loss_mask"])
def test_a_stream_without_labels_or_a_loss_mask_is_refused(missing: str) -> None:
    with pytest.raises(PackingError, match=rf"^batch\.{missing} = None: must be given"):
        micro_batch(replace(stream(4), **{missing: None}))
