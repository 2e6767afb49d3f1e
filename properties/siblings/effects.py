"""What a broken operation does differently, on calls that laws make of the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from enum import StrEnum
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from properties.law import catalogue
from properties.tracing import drawn
from properties.watch import fingerprint
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Policies
from reference_impl.reference import ReferenceImplementation

ON_FILES = frozenset({Op.PREPARE, Op.PREPARE_TEXT, Op.WRITE_ROWS, Op.READ_ROWS})
"""Their arguments are paths that are gone when a law is over: what they do is judged by laws alone."""


class Effect(StrEnum):
    """Kinds of difference."""

    FAILS = "fails"
    ACCEPTS = "accepts"
    REFUSES_OTHERWISE = "refuses otherwise"
    PRESENCE = "presence"
    TYPE = "type"
    LENGTH = "length"
    VALUES = "values"
    SIDE_EFFECT = "side effect"
    NOT_REPEATABLE = "not repeatable"
    ON_FILES = "on files"


_AMBIENT = 12_345
"""Seed of the global random state before a call: one that no bug sets."""

_DEFAULT = Policies()

CLOSE = 1e-10
"""Floating numbers that differ by less are the same, as laws see them (``properties.claims.near``)."""

Call = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Made:
    """A call that a law makes.

    Attributes:
        arguments: what it gives.
        expected: what the reference returns or raises.
    """

    arguments: Call
    expected: object


class _Recorder(ReferenceImplementation):
    """The reference, keeping the arguments of one operation."""

    def __init__(self) -> None:
        self.calls: list[Call] = []


@cache
def calls(op: Op, inputs_per_law: int, most: int, policies: Policies = _DEFAULT) -> Sequence[Made]:
    """Calls that laws make of an operation, spread over the laws that need it and that such policies must obey."""

    def record(self: _Recorder, *arguments: Any) -> object:
        self.calls.append(deepcopy(arguments))
        return getattr(ReferenceImplementation, op.value)(self, *arguments)

    recorder = type("Recorder", (_Recorder,), {op.value: record, "policies": policies})()
    for key, law in catalogue().items():
        if op in law.needs and not law.needs & {Op.PREPARE_TEXT}:
            for inputs in drawn(key, inputs_per_law):
                law.replay(recorder, inputs)
    step = max(1, len(recorder.calls) // most)
    declaring = type("Declaring", (ReferenceImplementation,), {"policies": policies})
    return [Made(call, _result(declaring(), op, call)[0]) for call in recorder.calls[::step]]


def effects(implementation: Implementation, op: Op, made: Sequence[Made]) -> frozenset[tuple[str, Effect]]:
    """Differences from the reference: where in the result, and of which kind; empty when there is none."""
    if op in ON_FILES:
        return frozenset({("files", Effect.ON_FILES)})
    return frozenset(difference for call in made for difference in differences(implementation, op, call))


def differences(implementation: Implementation, op: Op, call: Made) -> Iterator[tuple[str, Effect]]:
    """Differences of one call."""
    expected = call.expected
    got, side_effect = _result(implementation, op, call.arguments)
    if side_effect:
        yield "", Effect.SIDE_EFFECT
    if isinstance(got, Exception) or isinstance(expected, Exception):
        yield from _refusals(got, expected)
        return
    found = list(_of_leaves(got, expected))
    yield from found
    if not found and fingerprint(got) != fingerprint(expected) and _wavers(implementation, op, call, got):
        yield "", Effect.NOT_REPEATABLE


def _of_leaves(got: object, expected: object) -> Iterator[tuple[str, Effect]]:
    got_leaves, expected_leaves = dict(_leaves("", got)), dict(_leaves("", expected))
    if got_leaves.keys() != expected_leaves.keys():
        yield "", Effect.PRESENCE
    for path in got_leaves.keys() & expected_leaves.keys():
        kind = _kind(got_leaves[path], expected_leaves[path])
        if kind:
            yield ".".join("*" if step.isdigit() else step for step in path.split(".")), kind


def _wavers(implementation: Implementation, op: Op, call: Made, got: object) -> bool:
    """Whether the same call comes to something else, if only in its last bits."""
    return fingerprint(_result(implementation, op, call.arguments)[0]) != fingerprint(got)


def _result(implementation: Implementation, op: Op, call: Call) -> tuple[object, bool]:
    """What a call comes to, and whether it changed its arguments or the global random state."""
    arguments = deepcopy(call)
    kept: Any = np.random.get_state()  # noqa: NPY002 - the global state is what is watched
    np.random.seed(_AMBIENT)  # noqa: NPY002
    before = fingerprint(arguments), _ambient()
    try:
        with np.errstate(all="ignore"):
            result: object = getattr(implementation, op.value)(*arguments)
    except (Exception, SystemExit) as error:
        result = error if isinstance(error, Exception) else RuntimeError(str(error))
    after = fingerprint(arguments), _ambient()
    np.random.set_state(kept)  # noqa: NPY002
    return result, before != after


def _ambient() -> object:
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[1].tobytes(), state[2]


def _refusals(got: object, expected: object) -> Iterator[tuple[str, Effect]]:
    if not isinstance(expected, Exception):
        yield "", Effect.FAILS
    elif not isinstance(got, Exception):
        yield "", Effect.ACCEPTS
    elif type(got) is not type(expected) or str(got) != str(expected):
        yield "", Effect.REFUSES_OTHERWISE


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Arrays and plain values by where they are; an empty sequence or mapping is there too."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _leaves(f"{path}.{field.name}", getattr(value, field.name))
    elif isinstance(value, Mapping | list | tuple) and not value:
        yield path, ()
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield from _leaves(f"{path}.{key}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(cast("Sequence[object]", value)):
            yield from _leaves(f"{path}.{number}", item)
    else:
        yield path, value


def _kind(got: object, expected: object) -> Effect | None:
    if isinstance(got, np.ndarray) and isinstance(expected, np.ndarray):
        return _kind_of_arrays(cast("NDArray[Any]", got), cast("NDArray[Any]", expected))
    if (got is None) != (expected is None):
        return Effect.PRESENCE
    if isinstance(got, np.ndarray) or isinstance(expected, np.ndarray):
        return Effect.TYPE
    if isinstance(got, float) and isinstance(expected, float):
        return None if _close(np.array(got), np.array(expected)) else Effect.VALUES
    return None if got == expected else Effect.VALUES


def _kind_of_arrays(got: NDArray[Any], expected: NDArray[Any]) -> Effect | None:
    if got.shape != expected.shape:
        return Effect.LENGTH
    if not _close(got, expected):
        return Effect.VALUES
    return None if got.dtype == expected.dtype else Effect.TYPE


def _close(got: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether all entries are the same, but for rounding where numbers are floating."""
    if got.dtype.kind == "f" and expected.dtype.kind == "f":
        return bool(np.allclose(got, expected, rtol=0, atol=CLOSE, equal_nan=True))
    return got.tolist() == expected.tolist()
