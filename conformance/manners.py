"""Tests the manners of a program that speaks the protocol, before anything is measured with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conformance.protocol import UNSPEAKABLE, Kind
from conformance.targets.command import Command, CommandError
from reference_impl.interface import Op

PATIENCE = 10.0
"""Seconds that a program may take to end when its stdin is closed."""

LENGTHS = {"dtype": "int64", "data": [3, 2, 2]}


@dataclass(frozen=True)
class Manner:
    """One habit that is asked of a program.

    Attributes:
        claim: what it should do.
        trouble: what it did instead, "" when it did that.
    """

    claim: str
    trouble: str


def manners(program: str) -> list[Manner]:
    """Every habit in turn; after one that leaves the program unusable, no more are tested."""
    words = shlex.split(program)
    found: list[Manner] = []
    try:
        command = Command(words)
    except CommandError as error:
        return [Manner("it says hello first", str(error))]
    found.append(Manner("it says hello first", ""))
    for claim, test in TESTS.items():
        try:
            found.append(Manner(claim, "; ".join(test(command))))
        except CommandError as error:
            return [*found, Manner(claim, str(error))]
    return found


def _names(command: Command) -> Iterator[str]:
    unknown = sorted(set(command.hello.operations) - {op.value for op in set(Op) - UNSPEAKABLE})
    if unknown:
        yield f"it offers {', '.join(unknown)}, which cannot be asked for"
    if not command.hello.operations:
        yield "it offers no operation"


def _unknown_operation(command: Command) -> Iterator[str]:
    answer = command.ask("no_such_operation", [])
    if answer.error is None or answer.error.kind is not Kind.NOT_SUPPORTED:
        yield f"an unknown operation must be {str(Kind.NOT_SUPPORTED)!r}, not {answer.error or answer.result!r}"


def _wrong_arguments(command: Command) -> Iterator[str]:
    for name in command.hello.operations:
        answer = command.ask(name, [])
        if answer.error is None:
            yield f"{name} without arguments gives {answer.result!r}"


def _no_json(command: Command) -> Iterator[str]:
    command.write(b"{ this is no JSON")
    answer = command.read_answer()
    if answer.id is not None or answer.error is None:
        yield f"a broken line must be answered with an error and without an id, not {answer}"


def _same_answer(command: Command) -> Iterator[str]:
    if Op.ASSIGN_BINS.value not in command.hello.operations:
        return
    arguments = [LENGTHS, 4, "first_fit", 0]
    first, second = (command.ask(Op.ASSIGN_BINS.value, arguments).result for _ in range(2))
    if first != second:
        yield f"assign_bins gives {first!r}, then {second!r}"


def _ends(command: Command) -> Iterator[str]:
    status = command.close(PATIENCE)
    if status is None:
        yield f"it still runs {PATIENCE:.0f} s after its stdin was closed"
    elif status:
        yield f"it ends with exit status {status}"


TESTS: dict[str, Callable[[Command], Iterator[str]]] = {
    "it offers operations that exist": _names,
    "it answers an unknown operation": _unknown_operation,
    "it refuses missing arguments and goes on": _wrong_arguments,
    "it answers a broken line and goes on": _no_json,
    "it answers the same to the same": _same_answer,
    "it ends when its stdin is closed": _ends,
}


def any_missing(found: Sequence[Manner]) -> bool:
    """Whether any habit is missing."""
    return any(manner.trouble for manner in found)
