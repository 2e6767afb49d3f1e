"""Any object with methods named after operations, as an implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from properties.routing import route
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Policies


class DuckTyped(Implementation):
    """Passes operations on to an object of a class that knows nothing of packproof.

    Attributes:
        inner: the object.
        policies: those that the object declares, otherwise those of the reference.
    """

    def __init__(self, inner: object) -> None:
        self.inner = inner
        self.policies = getattr(inner, "policies", Policies())

    def operations(self) -> frozenset[Op]:
        """Operations that the object has a method for."""
        return frozenset(op for op in Op if callable(getattr(self.inner, op.value, None)))


def _passed_on(op: Op) -> Callable[..., Any]:
    def call(self: DuckTyped, *arguments: object) -> object:
        method = getattr(self.inner, op.value, None)
        if not callable(method):
            raise NotSupported(op)
        return method(*arguments)

    return call


route(DuckTyped, _passed_on)
