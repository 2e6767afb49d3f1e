"""How packproof talks to a program in any language: one JSON object per line, on stdin and stdout.

    <  {"protocol": 1, "name": "my-packer", "version": "2.1", "operations": ["assign_bins"]}
    >  {"id": 1, "operation": "assign_bins", "arguments": [{"dtype": "int64", "data": [3, 2]}, 4, "first_fit", 0]}
    <  {"id": 1, "result": [[3], [2]]}
    >  {"id": 2, "operation": "collate", "arguments": []}
    <  {"id": 2, "error": {"kind": "not supported", "message": "no collate here"}}

The program speaks first, answers every line in order, writes nothing else to stdout, and ends when stdin does.
Arguments and results are those of ``reference_impl.interface``: dataclasses as objects, arrays as dtype and data.
Operations that take a path or a tokenizer cannot be asked for.
"""

from __future__ import annotations

import typing
from enum import StrEnum
from typing import Any

import msgspec

from reference_impl.interface import Implementation, Op

VERSION = 1
UNSPEAKABLE = frozenset({Op.PREPARE, Op.PREPARE_TEXT, Op.WRITE_ROWS, Op.READ_ROWS})
"""Operations that need more than data."""


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """What a program says first.

    Attributes:
        protocol: version of this protocol.
        name, version: of the program.
        operations: names of what it offers.
        policies: what it declares where packing leaves a choice, for people.
    """

    protocol: int
    name: str
    operations: tuple[str, ...]
    version: str = ""
    policies: dict[str, str] = {}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One question; ``id`` comes back with the answer."""

    id: int
    operation: str
    arguments: tuple[Any, ...]


class Kind(StrEnum):
    """Why there is no result."""

    REFUSED = "refused"
    ACCIDENT = "accident"
    NOT_SUPPORTED = "not supported"
    INEXPRESSIBLE = "inexpressible"


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no result, in words.

    Attributes:
        kind: whether the input was refused on purpose, or something went wrong.
        message: one sentence; a refusal names the offending value.
    """

    kind: Kind
    message: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to one request: a result or an error.

    Attributes:
        id: of the request; None when the line was no request.
        result: as the interface has it.
        error: in the place of a result.
        seconds: CPU time of the operation alone, when the program measures it.
        peak_mib: most memory that the program has used so far, when it measures it.
    """

    id: int | None
    result: Any = None
    error: Trouble | None = None
    seconds: float | None = None
    peak_mib: float | None = None


def json_schema() -> dict[str, Any]:
    """JSON Schema of the three kinds of lines."""
    (hello, request, answer), components = msgspec.json.schema_components([Hello, Request, Answer])
    return {"hello": hello, "request": request, "answer": answer, "$defs": components}


def types_of(operation: Op) -> tuple[tuple[Any, ...], Any]:
    """Types of the arguments of an operation, and of its result."""
    hints = typing.get_type_hints(getattr(Implementation, operation.value))
    result = hints.pop("return")
    return tuple(hints.values()), result
