"""The laws that one of several machines is to try, so that a night is long enough for thousands of examples each."""

from __future__ import annotations

from collections.abc import Sequence

SHARD = "PACKPROOF_SHARD"
"""Environment variable: ``3/20`` for the third of twenty machines."""


def shard_of[T](items: Sequence[T], which: str) -> list[T]:
    """Every n-th item, so that the costly ones, which lie beside each other, are spread.

    Raises:
        ValueError: ``which`` is no k/n with 1 <= k <= n.
    """
    number, _, count = which.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ValueError(f"{SHARD} = {which!r}: it must be k/n with k from 1 to n, such as 3/20")
    return list(items[int(number) - 1 :: int(count)])
