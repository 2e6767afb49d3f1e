"""Laws and bugs against each other, on inputs that are drawn once per law."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from hypothesis import Phase, given, seed, settings

from properties.law import ALL_CHECKS, Inputs, Law, Verdict, catalogue
from properties.museum import Bug, museum
from reference_impl.interface import Op
from reference_impl.reference import ReferenceImplementation

LAWS = catalogue()
BUGS = museum()
GLANCE, SEARCH = 10, 40
"""Examples of every law that are tried first, and at most."""

DRAWS = settings(database=None, deadline=None, phases=(Phase.generate,), suppress_health_check=ALL_CHECKS)


class Traced(ReferenceImplementation):
    """The reference, telling which operations are called, those that operations are made of included."""

    def __init__(self) -> None:
        self.touched: set[Op] = set()


def _traced(op: Op) -> Any:
    def call(self: Traced, *arguments: Any) -> Any:
        self.touched.add(op)
        return getattr(ReferenceImplementation, op)(self, *arguments)

    return call


for _op in Op:
    setattr(Traced, _op, _traced(_op))


@cache
def drawn(key: str, number: int = SEARCH) -> Sequence[Inputs]:
    """Inputs of a law."""
    inputs: list[Inputs] = []

    def remember(**values: object) -> None:
        inputs.append(values)

    seed(0)(settings(DRAWS, max_examples=number)(given(**LAWS[key].strategies)(remember)))()
    return inputs


@cache
def touched(key: str) -> frozenset[Op]:
    """Operations that a law comes to on the reference, in its first examples."""
    traced = Traced()
    for inputs in drawn(key, 3):
        LAWS[key].replay(traced, inputs)
    return LAWS[key].needs | traced.touched


def concerns(law: Law, bug: Bug) -> bool:
    """Whether a law comes to an operation that a bug breaks."""
    return bool(touched(law.key) & bug.overrides)


def first_catch(pairs: Iterable[tuple[Law, Bug]], most: int = SEARCH) -> str | None:
    """The first law that a bug breaks: all at a glance, then all after a search."""
    remaining = list(pairs)
    for start, end in ((0, GLANCE), (GLANCE, most)):
        for law, bug in remaining:
            for number, inputs in enumerate(drawn(law.key)[start:end], start + 1):
                if breaks(law, bug, inputs):
                    return f"{law.key} catches {bug.id} at example {number}"
    return None


def breaks(law: Law, bug: Bug, inputs: Inputs) -> bool:
    """Whether a bug breaks a law on one input."""
    outcome = law.replay(bug.implementation(), deepcopy(dict(inputs)))
    assert outcome.verdict is not Verdict.HARNESS_ERROR, f"{law.key} on {bug.id}: {outcome.message}"
    return outcome.verdict is Verdict.FAILED


def nearest_first(law: Law, bug: Bug) -> int:
    """Laws that need the broken operation itself come before those that only come to it."""
    return 0 if law.needs & bug.overrides else 1
