"""Numerics as operations on NumPy arrays: outputs, and the gradients that come back to every input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from reference_impl.attention import (
    LocalBoundaries,
    all_gather_attention,
    all_to_all_attention,
    ring_attention,
)
from reference_impl.batches import Layout
from reference_impl.context_parallel import Partition
from reference_impl.documents import IntArray
from reference_impl.ranks import (
    AttentionInputs,
    AttentionResult,
    Exchange,
    FloatArray,
    RecurrenceInputs,
    RecurrenceResult,
)
from reference_impl.recurrence import recurrence, short_convolution


def attention_result(
    inputs: AttentionInputs,
    layout: Layout,
    world: int,
    exchange: Exchange,
    causal: bool,
    partition: Partition,
    local_boundaries: LocalBoundaries,
) -> AttentionResult:
    """Attention over a stream whose slots ``world`` ranks share.

    Args:
        inputs: queries, keys, values and the gradient of the outputs.
        layout: boundaries of the stream.
        world: CP size.
        exchange: how the ranks share the work.
        causal: a token sees only itself and those before it.
        partition: the operation of this name.
        local_boundaries: the operation of this name.

    Raises:
        PackingError: as the functions of ``attention``.
    """
    shared: dict[Exchange, Callable[..., Tensor]] = {
        Exchange.RING: partial(ring_attention, local_boundaries=local_boundaries),
        Exchange.ALL_GATHER: partial(all_gather_attention, local_boundaries=local_boundaries),
        Exchange.ALL_TO_ALL: all_to_all_attention,
    }
    function = partial(shared[exchange], layout=layout, world=world, causal=causal, partition=partition)
    out, gradients = forward_and_backward(function, (inputs.q, inputs.k, inputs.v), inputs.grad_out)
    return AttentionResult(out, *gradients)


def recurrence_result(inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
    """The recurrence over a stream of documents told by ``seq_idx`` (T,)."""
    function = partial(recurrence, seq_idx_T=torch.as_tensor(seq_idx))
    out, gradients = forward_and_backward(function, (inputs.values, inputs.decays), inputs.grad_out)
    return RecurrenceResult(out, *gradients)


def short_convolution_result(inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
    """The short convolution over a stream of documents told by ``seq_idx`` (T,)."""
    function = partial(short_convolution, seq_idx_T=torch.as_tensor(seq_idx))
    out, gradients = forward_and_backward(function, (inputs.values, inputs.decays), inputs.grad_out)
    return RecurrenceResult(out, *gradients)


def forward_and_backward(
    function: Callable[..., Tensor], inputs: Sequence[FloatArray], grad_out: FloatArray
) -> tuple[FloatArray, list[FloatArray]]:
    """Output of a function of tensors, and the gradients of its inputs for that of its output."""
    leaves = [torch.tensor(array, requires_grad=True) for array in inputs]
    out = function(*leaves)
    gradients = torch.autograd.grad(out, leaves, torch.as_tensor(grad_out), materialize_grads=True)
    return out.detach().numpy(), [gradient.numpy() for gradient in gradients]
