"""The leak probe: does a document, or padding, change what another document gets?

Two documents side by side in one stream. The probe gives one of them other contents, and compares what the function
makes of the other one: its outputs, and the gradients of its inputs. What a packed layer computes for a document must
not depend on its neighbours at all, so there is no tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reference_impl.batches import Layout
from reference_impl.documents import BoolArray, IntArray
from reference_impl.thd import check_layout, padding_mask, sequence_index

PADDING = -1
"""Stands for the padding of all segments where a segment is named."""

Streamwise = Callable[..., Tensor]
"""A function of tensors (T, ...) with one entry per slot, to one such tensor."""


@dataclass(frozen=True, order=True)
class Leak:
    """One thing that a change elsewhere changed.

    Attributes:
        source: segment that was given other contents, or ``PADDING``.
        reached: segment whose valid slots noticed it.
        what: ``"output"``, or ``"gradient of input i"``.
    """

    source: int
    reached: int
    what: str


def leaks(function: Streamwise, inputs: Sequence[Tensor], layout: Layout, *, seed: int = 0) -> tuple[Leak, ...]:
    """Leaks of a function between the documents of a stream; () means that there are none.

    Every segment in turn, and the padding of all segments at once, is filled with other numbers. The loss is a
    random linear function of the outputs at valid slots, so that padding has no gradient to pass on.

    Args:
        function: takes tensors like ``inputs``, gives (T, ...).
        inputs: tensors (T, ...) of a floating dtype, as they are before the change.
        layout: boundaries of the stream.
        seed: decides the new contents and the loss.
    """
    checked = check_layout(layout)
    total = int(checked.padded[-1])
    is_padding = padding_mask(checked)
    owner: IntArray = sequence_index(checked, total)
    owner[is_padding] = PADDING
    segments = torch.as_tensor(owner)
    generator = torch.Generator().manual_seed(seed)
    before = _results(function, inputs, segments, seed)
    found: list[Leak] = []
    for source in np.unique(owner).tolist():
        changed = [_refilled(tensor, segments == source, generator) for tensor in inputs]
        after = _results(function, changed, segments, seed)
        for what, old in before.items():
            moved = _moved(old, after[what]) & (owner != source) & ~is_padding
            found += [Leak(source, reached, what) for reached in np.unique(owner[moved]).tolist()]
    return tuple(sorted(found))


def _results(function: Streamwise, inputs: Sequence[Tensor], segments: Tensor, seed: int) -> dict[str, Tensor]:
    """Outputs and gradients (T, ...) by name, on the CPU."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    output = function(*leaves)
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(seed))
    weights[segments == PADDING] = 0
    gradients = torch.autograd.grad(output, leaves, weights.to(output), materialize_grads=True)
    named = {f"gradient of input {number}": gradient for number, gradient in enumerate(gradients)}
    return {"output": output.detach().cpu(), **{name: gradient.cpu() for name, gradient in named.items()}}


def _refilled(tensor: Tensor, where: Tensor, generator: torch.Generator) -> Tensor:
    """``tensor`` with other numbers, each larger by 1 to 2, in the slots ``where`` (T,)."""
    fresh = tensor + 1 + torch.rand(tensor.shape, generator=generator, dtype=tensor.dtype).to(tensor.device)
    shape = (-1, *[1] * (tensor.ndim - 1))
    return torch.where(where.to(tensor.device).reshape(shape), fresh, tensor)


def _moved(old: Tensor, new: Tensor) -> BoolArray:
    """Slots (T,) where two tensors (T, ...) differ at all; NaN equals NaN."""
    different = (old != new) & ~(torch.isnan(old) & torch.isnan(new))
    return different[..., None].flatten(start_dim=1).any(dim=1).numpy()
