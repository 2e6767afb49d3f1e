"""The leak probe: what it changes, and what it notices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from reference_impl.batches import Layout
from reference_impl.leaks import Leak, _refilled, leaks

STREAM = Layout(np.array([0, 3, 5]), np.array([0, 4, 8]))
SOURCES = [[3, 6, 7], [0, 1, 2], [4, 5]]
"""Padding, the first and the second segment, in the order of the probe."""


def watched(given: list[Tensor]) -> Callable[[Tensor], Tensor]:
    """A function that remembers what it is given."""

    def function(values: Tensor) -> Tensor:
        given.append(values.detach().clone())
        return values

    return function


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_one_source_at_a_time_is_moved_by_one_to_two(dtype: torch.dtype) -> None:
    """Everything else is as before, and so is the dtype."""
    given: list[Tensor] = []
    leaks(watched(given), [torch.zeros(8, 2, dtype=dtype)], STREAM)
    before, *after = given
    assert not before.any()
    for changed, slots in zip(after, SOURCES, strict=True):
        assert changed.dtype == dtype
        assert ((changed[slots] >= 1) & (changed[slots] <= 2)).all()
        changed[slots] = 0
        assert not changed.any()


def test_the_ambient_random_state_is_neither_read_nor_changed() -> None:
    """The seed alone decides what the function is given."""
    given: list[Tensor] = []
    for ambient in (1, 2):
        torch.manual_seed(ambient)
        before = torch.get_rng_state()
        leaks(watched(given), [torch.zeros(8)], STREAM, seed=3)
        assert torch.equal(torch.get_rng_state(), before)
    first, second = torch.stack(given).chunk(2)
    assert torch.equal(first, second)


def test_a_number_that_becomes_nan_has_moved() -> None:
    """Slot 0 is below 1 before the change, and above 1 after it."""

    def root_of_the_first(values: Tensor) -> Tensor:
        return torch.stack([values[0], values[1] + torch.sqrt(1 - values[0].detach())])

    stream = Layout(np.array([0, 1, 2]), np.array([0, 1, 2]))
    assert leaks(root_of_the_first, [torch.zeros(2)], stream) == (Leak(0, 1, "output"),)


def test_other_contents_are_made_on_the_device_of_the_tensor() -> None:
    """Any device that is not the CPU does; this one holds no numbers."""
    somewhere_else = torch.zeros(4, 2, device="meta")
    refilled = _refilled(somewhere_else, torch.ones(4, dtype=torch.bool), torch.Generator())
    assert refilled.device == somewhere_else.device
