"""Let code that moves its tensors to the GPU run where there is none: they stay on the CPU.

Only movement is replaced. Anything that would compute on a GPU, or allocate there, fails as it does without this.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

REPLACED = ("torch.Tensor.cuda", "torch.Tensor.to", "torch.nn.Module.cuda", "torch.nn.Module.to")

_replaced: tuple[str, ...] = ()


def activate() -> tuple[str, ...]:
    """Replace the movements once per process; a machine with a GPU is left alone.

    Returns:
        What is replaced, by dotted name.
    """
    global _replaced  # noqa: PLW0603  (so are the methods of torch)
    torch: Any = importlib.import_module("torch")
    if not _replaced and not torch.cuda.is_available():
        for owner in (torch.Tensor, torch.nn.Module):
            owner.cuda = _stay
            owner.to = _stay_if_cuda(owner.to)
        _replaced = REPLACED
    return _replaced


def _stay(itself: Any, *_arguments: object, **_keywords: object) -> Any:
    return itself


def _stay_if_cuda(move: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(move)
    def to(itself: Any, *arguments: object, **keywords: object) -> Any:
        kept = [argument for argument in arguments if not _names_cuda(argument)]
        named = {name: value for name, value in keywords.items() if not (name == "device" and _names_cuda(value))}
        if len(kept) + len(named) < len(arguments) + len(keywords):
            named.pop("non_blocking", None)
            return move(itself, *kept, **named) if kept or named else itself
        return move(itself, *arguments, **keywords)

    return to


def _names_cuda(value: object) -> bool:
    """Whether a ``to`` argument names a CUDA device: ``"cuda:0"`` or a ``torch.device``."""
    if isinstance(value, str):
        return value.partition(":")[0] == "cuda"
    return getattr(value, "type", None) == "cuda" and not hasattr(value, "shape")
