"""What can be done to a value: each operator is a kind of mistake that packing code is known for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Change = Callable[[Any], Any]
"""What an operator does to a value; a value that it cannot be applied to stays as it is."""


def edit(value: Any, path: Sequence[str], change: Change) -> Any:
    """``value`` with ``change`` applied at a path of field names and mapping keys.

    ``*`` stands for every item of a sequence, ``first`` and ``last`` for one of them. None stays None.
    """
    if value is None:
        return None
    if not path:
        return change(value)
    head, rest = path[0], path[1:]
    if head in {"*", "first", "last"}:
        chosen = {"*": range(len(value)), "first": range(1), "last": range(len(value) - 1, len(value))}[head]
        return tuple(edit(item, rest, change) if place in chosen else item for place, item in enumerate(value))
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return {**items, head: edit(items[head], rest, change)} if head in items else items
    return replace(value, **{head: edit(getattr(value, head), rest, change)})


def _later(array: Array) -> Array:
    return np.concatenate((array[:1], array[:-1]))


def _earlier(array: Array) -> Array:
    return np.concatenate((array[1:], array[-1:]))


def _added_to_last(step: int) -> Change:
    def change(array: Array) -> Array:
        changed = array.copy()
        changed[-1:] += np.asarray(step, dtype=array.dtype)
        return changed

    return change


def _added_to_inner(step: int) -> Change:
    def change(array: Array) -> Array:
        changed = array.copy()
        changed[1:-1] += np.asarray(step, dtype=array.dtype)
        return changed

    return change


def _running(array: Array) -> Array:
    return np.arange(array.size, dtype=array.dtype)


def _other_width(array: Array) -> Array:
    return array.astype(np.int32 if array.dtype == np.int64 else np.int64)


def _rows_exchanged(array: Array) -> Array:
    return np.concatenate((array[-1:], array[1:-1], array[:1])) if len(array) > 1 else array


def _by_column(change: Change) -> Change:
    """``change`` made to every row of a table (A, T), that is along its columns."""

    def of_table(table: Array) -> Array:
        return np.stack([change(row) for row in table]) if len(table) else table

    return of_table


def _equal_merged(array: Array) -> Array:
    return np.unique(array)


def _weighed(place: slice, weight: float) -> Change:
    def change(array: Array) -> Array:
        changed = array.copy()
        changed[place] = weight
        return changed

    return change


SLOTS: dict[str, Change] = {
    "one later": _later,
    "one earlier": _earlier,
    "reversed": lambda array: array[::-1],
    "last dropped": lambda array: array[:-1],
    "first dropped": lambda array: array[1:],
    "last repeated": lambda array: np.append(array, array[-1:]),
    "last one more": _added_to_last(1),
    "one more": lambda array: array + 1,
    "sorted": np.sort,
    "all zero": np.zeros_like,
}
"""Arrays with one entry per slot: tokens, labels, positions, slots of a rank."""

POSITIONS: dict[str, Change] = SLOTS | {"reset skipped": _running}
"""Slot arrays that restart in every segment."""

ABSENT: dict[str, Change] = {"left out": lambda _: None}
"""What may be left out of a result, and was there."""

BOUNDARIES: dict[str, Change] = {
    "one entry later": _later,
    "first dropped": lambda array: array[1:],
    "last dropped": lambda array: array[:-1],
    "last repeated": lambda array: np.append(array, array[-1:]),
    "last one more": _added_to_last(1),
    "last one less": _added_to_last(-1),
    "inner one more": _added_to_inner(1),
    "inner one less": _added_to_inner(-1),
    "inner dropped": lambda array: np.delete(array, slice(1, -1)),
    "equal merged": _equal_merged,
    "sentinel appended": lambda array: np.append(array, np.asarray([-1], dtype=array.dtype)),
    "two-dimensional": lambda array: array[None, :],
    "other width of integers": _other_width,
}
"""Cumulative boundaries."""

MASK: dict[str, Change] = {
    "one later": _later,
    "one earlier": _earlier,
    "inverted": lambda array: ~array if array.dtype == bool else 1 - array,
    "all": np.ones_like,
    "none": np.zeros_like,
    "last set": _weighed(slice(-1, None), 1),
    "first set": _weighed(slice(None, 1), 1),
    "last unset": _weighed(slice(-1, None), 0),
    "first unset": _weighed(slice(None, 1), 0),
    "last dropped": lambda array: array[:-1],
}
"""Masks and loss weights."""

NUMBER: dict[str, Change] = {
    "one more": lambda number: number + 1,
    "one less": lambda number: number - 1,
    "doubled": lambda number: 2 * number,
    "halved": lambda number: number // 2,
    "zero": lambda number: 0 * number,
}
"""Counts, lengths and sizes."""

ITEMS: dict[str, Change] = {
    "last dropped": lambda items: items[:-1],
    "first dropped": lambda items: items[1:],
    "reversed": lambda items: items[::-1],
    "last repeated": lambda items: items + items[-1:],
    "first in place of all": lambda items: items[:1] * len(items),
}
"""Sequences of batches, rows, bins."""

FLAG: dict[str, Change] = {
    "inverted": lambda flag: not flag,
    "always": lambda _: True,
    "never": lambda _: False,
}
"""Switches."""

_EMPTY: dict[str, Change] = {
    "empty one appended": lambda bins: (*bins, ()),
    "empty one in front": lambda bins: ((), *bins),
}
BINS: dict[str, Change] = ITEMS | _EMPTY
"""Sequences of sequences, of which none is empty."""

_AXES: dict[str, Change] = {
    "axes reversed": lambda table: table[::-1],
    "last axis dropped": lambda table: table[:-1],
    "first axis in place of all": lambda table: np.repeat(table[:1], len(table), axis=0),
}
TABLE = _AXES | {f"columns: {name}": _by_column(change) for name, change in SLOTS.items()}
"""Tables with one row per axis and one column per slot."""

FLOATS: dict[str, Change] = {
    "one later": _later,
    "one earlier": _earlier,
    "reversed": lambda array: array[::-1],
    "last dropped": lambda array: array[:-1],
    "first and last exchanged": _rows_exchanged,
    "first zeroed": _weighed(slice(None, 1), 0),
    "last zeroed": _weighed(slice(-1, None), 0),
    "all zero": np.zeros_like,
    "doubled": lambda array: 2 * array,
    "halved": lambda array: array / 2,
}
"""Floating arrays with one entry, or one row, per slot or per part."""

WIDTH: dict[str, Change] = {
    "last feature dropped": lambda array: array[..., :-1],
    "last feature repeated": lambda array: np.concatenate((array, array[..., -1:]), axis=-1),
}
"""Floating arrays with the features of a slot on their last axis."""

REAL: dict[str, Change] = {
    "doubled": lambda number: 2 * number,
    "halved": lambda number: number / 2,
    "negated": lambda number: -number,
    "zero": lambda number: 0 * number,
    "one more": lambda number: number + 1,
}
"""A floating number."""
