"""An implementation under observation: which calls were made, what escaped from them, which arguments they changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from properties.claims import Broken
from properties.routing import route
from reference_impl.interface import Implementation, Op


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of an operation."""

    op: Op
    arguments: tuple[object, ...]


class Watched(Implementation):
    """Passes every operation on to ``inner`` and remembers it.

    Attributes:
        inner: the implementation that is measured.
        calls: calls since ``forget``, the last one last.
        escaped: the exception that last left an operation, so that blame can be told; None if none did.
    """

    def __init__(self, inner: Implementation) -> None:
        self.inner = inner
        self.policies = inner.policies
        self.calls: list[Call] = []
        self.escaped: BaseException | None = None

    def operations(self) -> frozenset[Op]:
        """Operations of the watched implementation."""
        return self.inner.operations()

    def forget(self) -> None:
        """Start a new example."""
        self.calls.clear()
        self.escaped = None


def _watched(op: Op) -> Callable[..., Any]:
    def call(self: Watched, *arguments: object) -> object:
        self.calls.append(Call(op, arguments))
        before = fingerprint(arguments)
        try:
            result = getattr(self.inner, op.value)(*arguments)
        except BaseException as error:
            self.escaped = error
            raise
        if fingerprint(arguments) != before:
            raise Broken(f"{op.value} leaves its arguments as they were")
        return result

    return call


route(Watched, _watched)


def fingerprint(value: object) -> object:
    """A comparable copy of plain data: dataclasses, sequences, mappings and arrays by value."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return (array.dtype.str, array.shape, array.tobytes())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (type(value), tuple(fingerprint(getattr(value, field.name)) for field in dataclasses.fields(value)))
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return tuple((key, fingerprint(item)) for key, item in items)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(fingerprint(item) for item in cast("Sequence[object]", value))
    return value
