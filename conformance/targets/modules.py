"""Modules of the software that is measured; imported when they are used, untyped as they come."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from reference_impl.batches import AnyArray
from reference_impl.documents import IntArray
from reference_impl.errors import NotSupported


def bridge(name: str) -> Any:
    """The module ``megatron.bridge.<name>``.

    Raises:
        NotSupported: this release has no such module.
    """
    full_name = f"megatron.bridge.{name}"
    try:
        return importlib.import_module(full_name)
    except ModuleNotFoundError as error:
        if error.name and full_name.startswith(error.name):
            raise NotSupported(f"this release of Megatron Bridge has no {full_name}") from error
        raise


def core(name: str) -> Any:
    """The module ``megatron.core.<name>``."""
    return importlib.import_module(f"megatron.core.{name}")


def torch() -> Any:
    """PyTorch."""
    return importlib.import_module("torch")


def to_tensor(array: AnyArray) -> Any:
    """A tensor with a copy of ``array``, so that nothing can change the caller's."""
    return torch().from_numpy(np.array(array))


def flat_integers(tensor: Any) -> IntArray:
    """The elements of a tensor in order, as int64."""
    return tensor.numpy().reshape(-1).astype(np.int64)
