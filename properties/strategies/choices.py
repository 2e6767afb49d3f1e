"""Choices among a few values that differ from example to example: a strategy costs more to make than to draw from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def one_of[T](values: Sequence[T]) -> SearchStrategy[T]:
    """One of some hashable values; the first is what a counterexample shrinks to."""
    return _one_of(tuple(values), tuple(map(type, values)))


@cache
def _one_of(values: tuple[Any, ...], types: tuple[type, ...]) -> SearchStrategy[Any]:
    """Types tell apart what is equal, as 0 and False."""
    del types
    return st.sampled_from(values)
