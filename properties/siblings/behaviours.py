"""Mistakes that are made around an operation, whatever its result is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from properties.siblings.operators import edit
from reference_impl.errors import PackingError
from reference_impl.interface import Implementation, Op
from reference_impl.policies import EmptyRow, Policies
from reference_impl.reference import ReferenceImplementation

Method = Callable[..., Any]

DRAWS_RANDOM = {Op.ASSIGN_BINS, Op.PACKING_STRATEGY, Op.FILL, Op.PACK_DOCUMENTS, Op.PREPARE, Op.EPOCH_ORDER}
"""Operations that have a seed to draw with: only they are tempted to use the global random state."""

WITHOUT_ARRAYS = {Op.READ_ROWS, Op.EPOCH_ORDER, Op.VALIDATE, Op.PREPARE_TEXT}
"""Operations that are given no array to write to."""

WITHOUT_SEQUENCES = {Op.SEQUENCE_PARAMS, Op.PACK_IN_BATCH, Op.SLICE_BATCH, Op.PLACE_BATCH, Op.ATTENTION}
"""Operations on a whole batch: they are given no sequence that could be empty."""

WAVERING = {Op.ATTENTION: ("grad_q", "grad_v"), Op.RECURRENCE: ("out",), Op.SHORT_CONVOLUTION: ("out",)}
"""Floating results of which every entry must come out the same, bit for bit, whenever it is computed."""

DECLARED = {Op.PACK_IN_BATCH: Policies(empty_row=EmptyRow.REFUSED)}
"""Policies that let an operation refuse more than the reference does."""


def behaviours(op: Op) -> Mapping[str, Method]:
    """Methods in place of an operation, by what each does wrong."""
    found = {
        "refuses without a message": _refuses_without_message(op),
        "forgives what it must refuse": _forgives(op),
    }
    if op not in WITHOUT_SEQUENCES:
        found["fails on an empty argument"] = _fails_on_empty(op)
    if op in DRAWS_RANDOM:
        found["reseeds the global random state"] = _reseeds(op)
    if op not in WITHOUT_ARRAYS:
        found["writes to an argument"] = _writes_to_an_argument(op)
    for name in WAVERING.get(op, ()):
        found[f"last bits of {name} differ every other time"] = _wavers(op, name)
    return found


def original(op: Op) -> Method:
    """The operation of the reference."""
    return getattr(ReferenceImplementation, op.value)


def _refuses_without_message(op: Op) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        try:
            return original(op)(self, *arguments)
        except PackingError:
            raise AssertionError from None

    return method


def _forgives(op: Op) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        try:
            return original(op)(self, *arguments)
        except PackingError:
            return ()

    return method


def _reseeds(op: Op) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        np.random.seed(0)  # noqa: NPY002 - the mistake
        return original(op)(self, *arguments)

    return method


def _fails_on_empty(op: Op) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        if any(hasattr(argument, "__len__") and not len(argument) for argument in arguments):
            raise IndexError("index out of range")
        return original(op)(self, *arguments)

    return method


def _writes_to_an_argument(op: Op) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        result = original(op)(self, *arguments)
        for array in _arrays(arguments):
            if array.size and array.flags.writeable:
                array[-1:] = ~array[-1:] if array.dtype == bool else array[-1:] + 1
                break
        return result

    return method


def _wavers(op: Op, name: str) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        calls = vars(self).setdefault("calls", count())
        result = original(op)(self, *arguments)
        return edit(result, (name,), lambda array: array * (1 + 1e-15)) if next(calls) % 2 else result

    return method


def _arrays(value: object) -> Iterator[NDArray[Any]]:
    """Arrays inside of plain data."""
    if isinstance(value, np.ndarray):
        yield cast("NDArray[Any]", value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _arrays(getattr(value, field.name))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in cast("Sequence[object]", value):
            yield from _arrays(item)
