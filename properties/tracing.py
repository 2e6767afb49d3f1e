"""Which operations a law comes to, those that other operations are made of included.

A law that needs ``prepare`` comes to ``pack_documents``, ``pad_document`` and more; a bug in any of them can break it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from properties.law import Inputs, Law, catalogue
from properties.museum.bug import Bug
from properties.profiles import DEFAULT, profile
from properties.routing import route
from reference_impl.interface import Op
from reference_impl.reference import ReferenceImplementation

FOLLOWED = 3
"""Inputs on which a law is followed."""


class Traced(ReferenceImplementation):
    """The reference, telling which operations are called, those called through ``self`` included.

    Attributes:
        touched: the operations so far.
    """

    def __init__(self) -> None:
        self.touched: set[Op] = set()


def _traced(op: Op) -> Callable[..., object]:
    def call(self: Traced, *arguments: Any) -> object:
        self.touched.add(op)
        return getattr(ReferenceImplementation, op.value)(self, *arguments)

    return call


route(Traced, _traced)


_drawn: dict[tuple[str, int], tuple[int, Sequence[Inputs]]] = {}


def drawn(key: str, number: int, run_seed: int = 0) -> Sequence[Inputs]:
    """The first inputs of a law in the default profile; drawn once per process, and anew only when more are asked."""
    most, inputs = _drawn.get((key, run_seed), (-1, ()))
    if number > most:
        inputs = catalogue()[key].draw(number, profile=profile(DEFAULT), run_seed=run_seed)
        _drawn[key, run_seed] = (number, inputs)
    return inputs[:number]


@cache
def touched(key: str) -> frozenset[Op]:
    """Operations that a law needs or comes to on the reference."""
    law = catalogue()[key]
    traced = Traced()
    traced.policies = traced.policies.declaring(law.policy)
    for inputs in drawn(key, FOLLOWED):
        law.replay(traced, inputs)
    return law.needs | traced.touched


def concerns(law: Law, bug: Bug) -> bool:
    """Whether a law comes to an operation that a bug breaks."""
    return bool(touched(law.key) & bug.overrides)
