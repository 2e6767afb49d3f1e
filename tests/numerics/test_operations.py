"""Numerics as operations on plain data: what the functions give, as NumPy arrays."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from reference_impl.attention import attention
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.ranks import AttentionInputs, Exchange, LossPart, RecurrenceInputs
from reference_impl.recurrence import recurrence, short_convolution
from reference_impl.reference import ReferenceImplementation

REFERENCE = ReferenceImplementation()
LAYOUT = Layout(np.array([0, 3, 9]), np.array([0, 4, 12]))
SEQ_IDX = np.array([0] * 4 + [1] * 8)
NUMBERS = np.random.default_rng(0)
HEADS = AttentionInputs(*(NUMBERS.normal(size=(12, 2, 3)) for _ in range(4)))


def leaves(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.tensor(array, requires_grad=True) for array in arrays]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("exchange", list(Exchange))
def test_attention_gives_outputs_and_gradients(exchange: Exchange, causal: bool) -> None:
    result = REFERENCE.attention(HEADS, LAYOUT, 2, exchange, causal)
    inputs = leaves(HEADS.q, HEADS.k, HEADS.v)
    out = attention(*inputs, LAYOUT, causal=causal)
    gradients = torch.autograd.grad(out, inputs, torch.tensor(HEADS.grad_out))
    for field, expected in zip(fields(result), [out.detach(), *gradients], strict=True):
        np.testing.assert_allclose(getattr(result, field.name), expected.numpy(), rtol=0, atol=1e-10)


def test_recurrent_layers_give_outputs_and_gradients() -> None:
    values, decays, grad_out = (NUMBERS.normal(size=(12, 2)) for _ in range(3))
    for operation, function, other in (
        (REFERENCE.recurrence, recurrence, decays),
        (REFERENCE.short_convolution, short_convolution, decays[:3]),
    ):
        result = operation(RecurrenceInputs(values, other, grad_out), SEQ_IDX)
        inputs = leaves(values, other)
        out = function(*inputs, torch.tensor(SEQ_IDX))
        gradients = torch.autograd.grad(out, inputs, torch.tensor(grad_out))
        for field, expected in zip(fields(result), [out.detach(), *gradients], strict=True):
            np.testing.assert_array_equal(getattr(result, field.name), expected.numpy())


@pytest.mark.parametrize(
    ("exchange", "operations"),
    [
        (Exchange.RING, {"partition", "local_boundaries"}),
        (Exchange.ALL_GATHER, {"partition", "local_boundaries"}),
        (Exchange.ALL_TO_ALL, {"partition"}),
    ],
)
def test_attention_is_built_on_the_operations_of_its_implementation(exchange: Exchange, operations: set[str]) -> None:
    """A bug that overrides one of them shows in attention."""
    asked: set[str] = set()

    class Watched(ReferenceImplementation):
        def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
            asked.add("partition")
            return super().partition(layout, world, rank)

        def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
            asked.add("local_boundaries")
            return super().local_boundaries(layout, world, rank)

    Watched().attention(HEADS, LAYOUT, 2, exchange, True)
    assert asked >= operations


def test_inputs_that_nothing_depends_on_have_a_gradient_of_zero() -> None:
    """Decays, where every document has one slot."""
    ones = np.ones((2, 1))
    result = REFERENCE.recurrence(RecurrenceInputs(ones, ones, ones), np.array([0, 1]))
    gradients = [getattr(result, field.name).tolist() for field in fields(result)[1:]]
    assert gradients == [[[1.0], [1.0]], [[0.0], [0.0]]]


def test_inputs_are_left_alone() -> None:
    before = HEADS.q.copy()
    REFERENCE.attention(HEADS, LAYOUT, 2, Exchange.RING, True).out[:] = 7
    np.testing.assert_array_equal(HEADS.q, before)


def test_the_other_operations_pass_on() -> None:
    assert REFERENCE.reduce_loss([LossPart(np.array([3.0]), np.array([1.0]))]).loss == 3
    assert len(REFERENCE.schedule(np.array([8, 8]), 2, 8)) == 1
    assert REFERENCE.balance(np.array([1, 1]), 2, 1, 2) == ((0,), (1,))


def test_a_stream_that_cannot_be_cut_is_refused() -> None:
    with pytest.raises(PackingError, match=r"divisible by 2 \* 4"):
        REFERENCE.attention(HEADS, LAYOUT, 4, Exchange.RING, True)
