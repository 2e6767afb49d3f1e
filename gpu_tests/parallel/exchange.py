"""Exchanges between the ranks of a group, and their gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gpu_tests.ranks.fabric import Group


def pass_on(tensors: list[Tensor], group: Group) -> list[Tensor]:
    """Send tensors to the next rank of the ring and return those of the previous one, of the same shapes."""
    if group.size == 1:
        return tensors
    sent = [tensor.contiguous() for tensor in tensors]
    received = [torch.empty_like(tensor) for tensor in sent]
    operations = [dist.P2POp(dist.isend, tensor, group.after, group.handle) for tensor in sent]
    operations += [dist.P2POp(dist.irecv, tensor, group.before, group.handle) for tensor in received]
    for request in dist.batch_isend_irecv(operations):
        request.wait()
    return received


def gather(local: Tensor, group: Group) -> Tensor:
    """The tensors of all ranks along dimension 0, in rank order; its gradient is summed and scattered."""
    gathered: Tensor = _Gather.apply(local, group)
    return gathered


def scatter_sum(partial: Tensor, group: Group) -> Tensor:
    """This rank's share, along dimension 0, of the sum over all ranks; its gradient is gathered."""
    share: Tensor = _ScatterSum.apply(partial, group)
    return share


def add_up(partial: Tensor, group: Group) -> Tensor:
    """The sum over all ranks, on each; its gradient is the same on each and passes."""
    total: Tensor = _AddUp.apply(partial, group)
    return total


def copy_to(whole: Tensor, group: Group) -> Tensor:
    """A tensor that all ranks have; its gradient is the sum over all ranks."""
    copied: Tensor = _CopyTo.apply(whole, group)
    return copied


def swap(parts: Tensor, group: Group) -> Tensor:
    """Entry i of dimension 0 (W, ...) goes to rank i; what comes back is in rank order. Its own gradient."""
    swapped: Tensor = _Swap.apply(parts, group)
    return swapped


def _gathered(local: Tensor, group: Group) -> Tensor:
    parts = [torch.empty_like(local) for _ in range(group.size)]
    dist.all_gather(parts, local.contiguous(), group=group.handle)
    return torch.cat(parts)


def _summed(partial: Tensor, group: Group) -> Tensor:
    total = partial.clone().contiguous()
    dist.all_reduce(total, group=group.handle)
    return total


def _share(whole: Tensor, group: Group) -> Tensor:
    return whole.chunk(group.size)[group.rank].contiguous()


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return _gathered(local, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        # Sum and cut instead of reduce-scatter, which not every backend has.
        return _share(_summed(gradients[0], ctx.group), ctx.group), None


class _ScatterSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, partial: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return _share(_summed(partial, group), group)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        return _gathered(gradients[0], ctx.group), None


class _AddUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, partial: Tensor, group: Group) -> Tensor:
        del ctx
        return _summed(partial, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        del ctx
        return gradients[0], None


class _CopyTo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, whole: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return whole.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        return _summed(gradients[0], ctx.group), None


class _Swap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parts: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return _swapped(parts, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        return _swapped(gradients[0], ctx.group), None


def _swapped(parts: Tensor, group: Group) -> Tensor:
    received = torch.empty_like(parts, memory_format=torch.contiguous_format)
    dist.all_to_all_single(received, parts.contiguous(), group=group.handle)
    return received
