"""Recurrent layers: equal to each document alone, forward and backward, and leaks of those that are not are found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from reference_impl.batches import Layout
from reference_impl.errors import PackingError
from reference_impl.leaks import PADDING, Leak, leaks
from reference_impl.recurrence import recurrence, short_convolution
from reference_impl.thd import sequence_index

CHANNELS, TAPS = 3, 4


def layout(padded: list[int], valid: list[int] | None = None) -> Layout:
    return Layout(np.array(padded if valid is None else valid), np.array(padded))


LAYOUTS = [
    layout([0, 5]),
    layout([0, 4, 8, 9], [0, 4, 8, 9]),
    layout([0, 4, 4, 12], [0, 3, 3, 8]),
    layout([0, 1, 2, 3, 8], [0, 1, 2, 2, 6]),
    layout([0, 0]),
]


def index(stream: Layout) -> Tensor:
    return torch.as_tensor(sequence_index(stream, int(stream.padded[-1])))


def inputs(stream: Layout) -> list[Tensor]:
    """Values and numbers that decays are made of."""
    generator = torch.Generator().manual_seed(0)
    shape = (int(stream.padded[-1]), CHANNELS)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2)]


def taps() -> Tensor:
    return torch.randn(TAPS, CHANNELS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def scan(values: Tensor, raw: Tensor, seq_idx: Tensor) -> Tensor:
    return recurrence(values, torch.sigmoid(raw), seq_idx)


def convolve(values: Tensor, raw: Tensor, seq_idx: Tensor) -> Tensor:
    """A short convolution whose output is gated, so that both inputs matter."""
    return short_convolution(values, taps(), seq_idx) * torch.sigmoid(raw)


def mamba(values: Tensor, raw: Tensor, seq_idx: Tensor) -> Tensor:
    return recurrence(short_convolution(values, taps(), seq_idx), torch.sigmoid(raw), seq_idx)


LAYERS = [scan, convolve, mamba]


@pytest.mark.parametrize("stream", LAYOUTS)
@pytest.mark.parametrize("layer", LAYERS)
def test_packed_layers_equal_each_document_alone(layer: Callable[..., Tensor], stream: Layout) -> None:
    """Outputs and gradients."""
    together = inputs(stream)
    out = layer(*together, index(stream))
    got = [out, *torch.autograd.grad(out.sin().sum(), together, materialize_grads=True)]
    for start, end in zip(stream.padded[:-1], stream.padded[1:], strict=True):
        own = [tensor[start:end].detach().requires_grad_() for tensor in together]
        alone = layer(*own, torch.zeros(end - start, dtype=torch.int64))
        gradients = torch.autograd.grad(alone.sin().sum(), own, materialize_grads=True)
        for one, other in zip(got, [alone, *gradients], strict=True):
            torch.testing.assert_close(one[start:end], other, rtol=0, atol=1e-14)  # some ten roundings of order 1


@pytest.mark.parametrize("stream", LAYOUTS)
@pytest.mark.parametrize("layer", LAYERS)
def test_nothing_leaks_through_recurrent_layers(layer: Callable[..., Tensor], stream: Layout) -> None:
    assert leaks(partial(layer, seq_idx=index(stream)), inputs(stream), stream) == ()


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_without_an_index_leak_forwards_and_their_gradients_backwards(layer: Callable[..., Tensor]) -> None:
    """MB-23, AM-02: no index is one document."""
    stream = layout([0, 4, 8])
    found = leaks(partial(layer, seq_idx=torch.zeros(8, dtype=torch.int64)), inputs(stream), stream)
    assert Leak(0, 1, "output") in found
    assert Leak(1, 0, "gradient of input 0") in found
    assert Leak(1, 0, "output") not in found


def test_an_index_of_valid_lengths_leaks_where_segments_are_padded() -> None:
    """P-PADDED: the state is reset at compacted borders instead of real ones."""
    stream = layout([0, 4, 8], [0, 3, 6])
    compacted = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])
    found = leaks(partial(scan, seq_idx=compacted), inputs(stream), stream)
    assert {leak.source for leak in found} == {PADDING}


def test_convolution_by_hand() -> None:
    values = torch.tensor([[1.0], [2.0], [4.0], [8.0]])
    out = short_convolution(values, torch.tensor([[1.0], [10.0], [100.0]]), torch.tensor([0, 0, 1, 1]))
    assert out.flatten().tolist() == [1.0, 12.0, 4.0, 48.0]


def test_recurrence_by_hand() -> None:
    values, decays = torch.tensor([[1.0], [2.0], [4.0], [8.0]]), torch.full((4, 1), 0.5)
    assert recurrence(values, decays, torch.tensor([0, 0, 2, 2])).flatten().tolist() == [1.0, 2.5, 4.0, 10.0]


def test_nan_in_one_document_stays_there() -> None:
    stream = layout([0, 4, 8])
    values, raw = (tensor.detach().clone() for tensor in inputs(stream))
    values[:4] = torch.nan
    values.requires_grad_()
    out = mamba(values, raw, index(stream))
    (gradient,) = torch.autograd.grad(out[4:].sum(), [values])
    assert torch.isfinite(out[4:]).all()
    assert torch.isfinite(gradient[4:]).all()


def test_other_shapes_are_refused() -> None:
    values = torch.ones(4, 2)
    with pytest.raises(PackingError, match=r"^values_TC = \(4, 2\): must fit the other tensor, \(3, 2\)$"):
        recurrence(values, values[:3], torch.zeros(4))
    with pytest.raises(PackingError, match=r"^seq_idx_T = \(3,\): must have 4 entries$"):
        short_convolution(values, torch.ones(2, 2), torch.zeros(3))
    with pytest.raises(PackingError, match=r"^taps_KC = \(0, 2\): must have at least one tap$"):
        short_convolution(values, torch.ones(0, 2), torch.zeros(4))


@pytest.mark.parametrize("taps_shape", [(2,), (3, 1), (1, 2, 2)])
def test_taps_of_other_channels_are_refused(taps_shape: tuple[int, ...]) -> None:
    """Also those that torch would stretch to the channels of the values."""
    with pytest.raises(PackingError, match=r"^values_TC = \(4, 2\): must fit"):
        short_convolution(torch.ones(4, 2), torch.ones(taps_shape), torch.zeros(4))
