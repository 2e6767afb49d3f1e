"""``command:PROGRAM``: a program in any language that speaks packproof's protocol."""

from __future__ import annotations

import itertools
import shlex
import subprocess
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, ClassVar

import msgspec

from conformance import cases
from conformance.protocol import UNSPEAKABLE, VERSION, Answer, Hello, Kind, Request, types_of
from properties.routing import route
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.interface import Implementation, Op


class CommandError(Exception):
    """The program cannot be started, ended, or does not speak the protocol; one sentence."""


class Refused(ValueError):
    """The program refused an input on purpose."""


class Accident(RuntimeError):
    """Something went wrong in the program."""


class Command(Implementation):
    """Asks a program, which runs as long as this object lives.

    Args:
        words: the program and its arguments.
        environment: of the program; None for that of this process.

    Attributes:
        hello: what the program said of itself.
        last: the last answer.

    Raises:
        CommandError: the program cannot be started, or says no hello.
    """

    name: ClassVar[str] = "command"

    def __init__(self, words: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._words = list(words)
        self._numbers = itertools.count(1)
        self.last: Answer | None = None
        try:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
        except OSError as error:
            raise CommandError(f"{shlex.join(self._words)} cannot be started: {error.strerror}") from error
        weakref.finalize(self, _end, self._process)
        self.hello = self._read(Hello)
        if self.hello.protocol != VERSION:
            raise CommandError(
                f"{shlex.join(self._words)} speaks protocol {self.hello.protocol}; this packproof speaks {VERSION}"
            )

    def operations(self) -> frozenset[Op]:
        """What the program offers and the protocol can ask for."""
        return frozenset(Op(name) for name in self.hello.operations if name in set(Op)) - UNSPEAKABLE

    def ask(self, operation: str, arguments: Sequence[Any]) -> Answer:
        """Ask once, with plain JSON values.

        Raises:
            CommandError: the program ended, or its line is no answer to this request.
        """
        request = Request(id=next(self._numbers), operation=operation, arguments=tuple(arguments))
        self.write(msgspec.json.encode(request))
        self.last = self._read(Answer)
        if self.last.id != request.id:
            raise CommandError(f"{shlex.join(self._words)} answered {self.last.id}, but {request.id} was asked")
        return self.last

    def write(self, line: bytes) -> None:
        """Send a line, whatever it is."""
        pipe: IO[bytes] = _pipe(self._process.stdin)
        try:
            pipe.write(line + b"\n")
            pipe.flush()
        except OSError as error:
            raise CommandError(f"{shlex.join(self._words)} ended ({self._process.wait()})") from error

    def read_answer(self) -> Answer:
        """The next line as an answer.

        Raises:
            CommandError: there is none.
        """
        return self._read(Answer)

    def close(self, seconds: float) -> int | None:
        """Close stdin; the exit status, or None when the program goes on for longer than ``seconds``."""
        _pipe(self._process.stdin).close()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def _read[T: (Hello, Answer)](self, kind: type[T]) -> T:
        line = _pipe(self._process.stdout).readline()
        what = "a hello" if kind is Hello else "an answer"
        if not line:
            raise CommandError(f"{shlex.join(self._words)} ended ({self._process.wait()}) where {what} was due")
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError as error:
            said = line[:80].decode(errors="replace").strip()
            raise CommandError(f"{shlex.join(self._words)} wrote {said!r}, which is not {what}: {error}") from error


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # both were asked for
    return pipe


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        _pipe(pipe).close()


def _asked(operation: Op) -> Callable[..., Any]:
    _, result = types_of(operation)

    def call(self: Command, *arguments: object) -> Any:
        answer = self.ask(operation.value, [cases.plain(argument) for argument in arguments])
        if answer.error is None:
            return cases.from_plain(answer.result, result)
        raised = {
            Kind.REFUSED: Refused,
            Kind.ACCIDENT: Accident,
            Kind.NOT_SUPPORTED: NotSupported,
            Kind.INEXPRESSIBLE: Inexpressible,
        }
        raise raised[answer.error.kind](answer.error.message)

    return call


route(Command, _asked, set(Op) - UNSPEAKABLE)
