"""Implementations that do the same with every operation: count it, record it, hand it to another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reference_impl.interface import Implementation, Op

Method = Callable[..., Any]


def route(kind: type[Implementation], make: Callable[[Op], Method], operations: Iterable[Op] = tuple(Op)) -> None:
    """Give a class a method for each operation, named and documented as in the interface.

    Args:
        kind: the class, which gets the methods.
        make: the method of an operation; its first argument is the implementation.
        operations: those that are routed; the others stay as the class has them.
    """
    for operation in operations:
        method = make(operation)
        method.__name__ = operation.value
        method.__doc__ = getattr(Implementation, operation.value).__doc__
        setattr(kind, operation.value, method)


def asking(operation: Op) -> Method:
    """The method of a class that answers all operations with ``ask(operation, arguments)``."""

    def call(self: Any, *arguments: object) -> Any:
        return self.ask(operation, arguments)

    return call
