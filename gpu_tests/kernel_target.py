"""An attention kernel as an implementation, so that the laws about attention can be run on it and recorded."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from gpu_tests.kernels import Kernel
from properties.segments import is_padding
from reference_impl.batches import Layout
from reference_impl.errors import Inexpressible
from reference_impl.interface import Implementation
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange

HEAD_SIZE = 8
"""Heads are filled up with zeros to this size, which every kernel takes."""

LAWS_TAKE = "float64"
"""The laws compare with a tolerance for this dtype; other dtypes are for ``gpu_tests.records``."""


class KernelTarget(Implementation):
    """One kernel on one device, in float64.

    Args:
        kernel: the kernel.
        device: ``cpu`` or ``cuda``.
    """

    name: ClassVar[str] = "kernel"

    def __init__(self, kernel: Kernel, device: str) -> None:
        self._kernel, self._device = kernel, device

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        """Attend on one rank.

        Raises:
            Inexpressible: there are several ranks, or there is no token.
        """
        del exchange
        if world > 1:
            raise Inexpressible("a kernel on one device has no CP ranks")
        if is_padding(layout).all():
            raise Inexpressible("no kernel takes a stream without a token")
        given = [self._tensor(x) for x in (inputs.q, inputs.k, inputs.v)]
        q, k, v = (x.requires_grad_() for x in given)
        padding = torch.from_numpy(is_padding(layout)).to(self._device)[:, None, None]
        groups = q.shape[1] // k.shape[1]
        scale = (HEAD_SIZE / q.shape[2]) ** 0.5  # kernels divide by the root of the size that they see
        attended = self._kernel.attend(
            _filled(q * scale),
            _filled(k.repeat_interleave(groups, dim=1)),
            _filled(v.repeat_interleave(groups, dim=1)),
            layout,
            causal,
        )
        out = attended[..., : v.shape[2]].masked_fill(padding, 0.0)
        gradients = torch.autograd.grad(out, (q, k, v), self._tensor(inputs.grad_out))
        arrays = [x.detach().cpu().numpy() for x in (out, *gradients)]
        return AttentionResult(*arrays)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(values)).to(self._device)


def _filled(values: Tensor) -> Tensor:
    """(T, H, D) with zeros behind, up to ``HEAD_SIZE``."""
    return torch.nn.functional.pad(values, (0, HEAD_SIZE - values.shape[2]))
