"""Lengths and seeds as every packer takes them."""

from __future__ import annotations

import numpy as np

from reference_impl.documents import IntArray
from reference_impl.errors import PackingError

LARGEST = 2**63 - 1
"""The largest number of slots that int64 can count."""


def checked_lengths(lengths: IntArray, capacity: int | None = None, *, argument: str = "lengths") -> IntArray:
    """Return ``lengths`` (n,) as int64, the caller's array itself where it is one.

    Args:
        lengths: what the caller gave.
        capacity: largest length allowed, or None.
        argument: name of ``lengths`` for the message.

    Raises:
        PackingError: ``capacity`` is not from 1 to 2**63 - 1, or a length is negative, above it or no integer.
    """
    if capacity is not None and capacity < 1:
        raise PackingError("capacity", capacity, "must be at least 1")
    if capacity is not None and capacity > LARGEST:
        raise PackingError("capacity", capacity, "must be below 2**63")
    array = np.asarray(lengths)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise PackingError(argument, lengths, "must be a one-dimensional array of integers")
    if array.size and array.min() < 0:
        raise PackingError(argument, int(array[array < 0][0]), "must not be negative")
    if capacity is not None and array.size and array.max() > capacity:
        raise PackingError(
            argument, int(array[array > capacity][0]), f"must not exceed the capacity of {capacity} slots"
        )
    return array.astype(np.int64, copy=False)


def random_stream(seed: int) -> np.random.RandomState:
    """Return the random stream of ``seed``, independent of NumPy's global one.

    The legacy generator is part of the contract: packed files of Megatron Bridge 0.6 come from it.

    Raises:
        PackingError: ``seed`` is outside of 0..2**32 - 1.
    """
    if not 0 <= seed < 2**32:
        raise PackingError("seed", seed, "must be from 0 to 2**32 - 1")
    return np.random.RandomState(seed)
