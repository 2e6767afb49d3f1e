"""The same drawn inputs put to several targets: where they agree, how fast they are, and what they declare."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from conformance import cases, running
from conformance.protocol import UNSPEAKABLE, Answer
from conformance.targets.command import Command
from properties.law import Law, catalogue
from properties.profiles import profile
from properties.watch import Call
from reference_impl.interface import Op
from reference_impl.reference import ReferenceImplementation


class Level(StrEnum):
    """How far two answers agree, the strongest first."""

    IDENTICAL = "identical"
    SAME_MULTISET = "same multiset"
    SAME_COUNT = "same count"
    BOTH_VALID = "both valid"
    BOTH_REFUSE = "both refuse"
    ONE_REFUSES = "one refuses"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Comparison:
    """One operation of one target beside that of the first.

    Attributes:
        operation: what was asked.
        first, other: target specifications.
        levels: how many inputs agreed how far.
        example: plain arguments of the first input of the weakest level, None when all answers are identical.
        speed: CPU time of the other in that of the first, None when too little was measured.
        memory: peak memory of the other's process in that of the first's.
    """

    operation: str
    first: str
    other: str
    levels: dict[Level, int]
    example: tuple[Any, ...] | None
    speed: float | None
    memory: float | None


ORDER = tuple(Level)
LEAST_SECONDS = 0.005
"""CPU time below which a ratio is noise: the clock of a process counts in milliseconds on some machines."""


def drawn(operation: Op, examples: int) -> list[tuple[Any, ...]]:
    """Arguments of an operation as the laws draw them, from each law in turn, without repeats, as plain values."""
    by_law = [_calls(law, operation) for law in catalogue().values() if operation in law.needs]
    in_turn = (arguments for row in itertools.zip_longest(*by_law) for arguments in row if arguments is not None)
    return list({repr(arguments): arguments for arguments in in_turn}.values())[:examples]


def _calls(law: Law, operation: Op) -> list[tuple[Any, ...]]:
    """Arguments of the calls that a law makes of an operation of the reference."""
    recorder = _Recorder(operation)
    law.run(recorder, profile=profile("self-check"))
    return [tuple(cases.plain(argument) for argument in call.arguments) for call in recorder.calls]


class _Recorder(ReferenceImplementation):
    """The reference, remembering the calls of one operation."""

    def __init__(self, operation: Op) -> None:
        self.calls: list[Call] = []
        inner = getattr(super(), operation.value)

        def call(*arguments: object) -> object:
            self.calls.append(Call(operation, arguments))
            return inner(*arguments)

        setattr(self, operation.value, call)


def start(target: str) -> Command:
    """A process that serves a target.

    Raises:
        CommandError: it cannot be loaded.
        OverlayError: its release cannot be had.
    """
    environment = running.environment_of(running.overlay_of(target))
    return Command([sys.executable, "-P", "-m", "conformance.serving", target], environment)


def compare(targets: Mapping[str, Command], wanted: Sequence[Op], examples: int) -> Iterator[Comparison]:
    """Compare every target with the first, operation by operation; one that only a single target has is left out."""
    names = list(targets)
    for operation in wanted:
        having = [name for name in names if operation in targets[name].operations()]
        if len(having) < 2:
            continue
        inputs = drawn(operation, examples)
        answers = {name: [targets[name].ask(operation.value, one) for one in inputs] for name in having}
        for other in having[1:]:
            yield _comparison(operation, having[0], other, inputs, answers)


def operations() -> list[Op]:
    """What can be compared, in the order of the interface."""
    return [op for op in Op if op not in UNSPEAKABLE]


def _comparison(
    operation: Op, first: str, other: str, inputs: Sequence[tuple[Any, ...]], answers: Mapping[str, Sequence[Answer]]
) -> Comparison:
    pairs = list(zip(answers[first], answers[other], strict=True))
    levels = [level(one, two) for one, two in pairs]
    weakest = max(levels, key=ORDER.index, default=Level.IDENTICAL)
    return Comparison(
        operation=operation.value,
        first=first,
        other=other,
        levels=dict(Counter(levels)),
        example=None if weakest is Level.IDENTICAL else inputs[levels.index(weakest)],
        speed=_ratio(_seconds(answers[other]), _seconds(answers[first]), LEAST_SECONDS),
        memory=_ratio(_peak(answers[other]), _peak(answers[first]), 1),
    )


def level(one: Answer, two: Answer) -> Level:
    """How far two answers agree."""
    unasked = {"not supported", "inexpressible"}
    if any(answer.error and str(answer.error.kind) in unasked for answer in (one, two)):
        return Level.NOT_COMPARED
    if one.error and two.error:
        return Level.BOTH_REFUSE
    if one.error or two.error:
        return Level.ONE_REFUSES
    if one.result == two.result:
        return Level.IDENTICAL
    if _multiset(one.result) == _multiset(two.result):
        return Level.SAME_MULTISET
    return Level.SAME_COUNT if _count(one.result) == _count(two.result) else Level.BOTH_VALID


def _multiset(value: Any) -> object:
    """A value with the order of its lists forgotten."""
    if isinstance(value, list):
        return sorted((_multiset(item) for item in cast("list[Any]", value)), key=repr)
    if isinstance(value, dict):
        return {name: _multiset(item) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _count(value: Any) -> int | None:
    """Number of entries of a list or of an array."""
    plain = cast("dict[str, Any]", value).get("data") if isinstance(value, dict) else value
    return len(cast("list[Any]", plain)) if isinstance(plain, list) else None


def _seconds(answers: Sequence[Answer]) -> float:
    return sum(answer.seconds or 0 for answer in answers)


def _peak(answers: Sequence[Answer]) -> float:
    return max((answer.peak_mib or 0 for answer in answers), default=0)


def _ratio(other: float, first: float, least: float) -> float | None:
    return round(other / first, 2) if min(other, first) >= least else None
