"""Serves any target by the protocol: `python -m conformance.serving TARGET`."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterable
from typing import IO

import msgspec

from conformance import cases
from conformance.protocol import UNSPEAKABLE, VERSION, Answer, Hello, Kind, Request, Trouble, types_of
from conformance.targets.loading import describe, load
from properties.claims import is_deliberate, show
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.interface import Implementation, Op


def serve(implementation: Implementation, hello: Hello, lines: Iterable[bytes], out: IO[bytes]) -> None:
    """Say hello, then answer line by line until there are no more."""
    _say(out, hello)
    for line in lines:
        if line.strip():
            _say(out, _answer(implementation, line))


def hello_of(implementation: Implementation) -> Hello:
    """What a target offers by the protocol."""
    description = describe(implementation)
    offered = sorted(op.value for op in implementation.operations() - UNSPEAKABLE)
    return Hello(
        protocol=VERSION,
        name=description.name,
        version=description.version,
        operations=tuple(offered),
        policies=dict(description.policies),
    )


def _answer(implementation: Implementation, line: bytes) -> Answer:
    try:
        request = msgspec.json.decode(line, type=Request)
    except msgspec.MsgspecError as error:
        return Answer(id=None, error=Trouble(kind=Kind.REFUSED, message=f"no request: {error}"))
    started = time.process_time()
    try:
        result = _result(implementation, request)
    except (Exception, SystemExit) as error:
        return Answer(id=request.id, error=Trouble(kind=_kind(error), message=show(error)))
    return Answer(
        id=request.id,
        result=result,
        seconds=time.process_time() - started,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _result(implementation: Implementation, request: Request) -> object:
    if request.operation not in set(Op) - UNSPEAKABLE:
        raise NotSupported(f"there is no operation {request.operation!r}")
    operation = Op(request.operation)
    kinds, _ = types_of(operation)
    if len(kinds) != len(request.arguments):
        raise cases.CaseError(f"{operation} takes {len(kinds)} arguments, not {len(request.arguments)}")
    arguments = [cases.from_plain(value, kind) for value, kind in zip(request.arguments, kinds, strict=True)]
    return cases.plain(getattr(implementation, operation.value)(*arguments))


def _kind(error: BaseException) -> Kind:
    if isinstance(error, NotSupported):
        return Kind.NOT_SUPPORTED
    if isinstance(error, Inexpressible):
        return Kind.INEXPRESSIBLE
    return Kind.REFUSED if is_deliberate(error) else Kind.ACCIDENT


def _say(out: IO[bytes], line: Hello | Answer) -> None:
    out.write(msgspec.json.encode(line) + b"\n")
    out.flush()


def main(target: str) -> None:
    """Serve a target on stdin and stdout; what it prints itself goes to stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.redirect_stdout(sys.stderr):
        implementation = load(target)
        serve(implementation, hello_of(implementation), sys.stdin.buffer, out)


if __name__ == "__main__":
    main(sys.argv[1])
