"""A pool of processes that runs programs on several ranks, one program after another.

Starting a rank costs seconds, running a case milliseconds: so the processes live as long as the session. A rank that
fails out of step or hangs takes the pool down, and the next case starts a new one, forked from a process that has
imported torch and touched no device.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from gpu_tests.ranks import jobs, worker
from gpu_tests.ranks.jobs import Answer, Job, Program, RankFailure, StartFailure
from reference_impl.errors import NotSupported

START_LIMIT = 120.0
"""Seconds for all ranks to come up; importing torch takes several where cores are shared."""

CASE_LIMIT = 20.0
"""Seconds for one case. A case takes a fraction of one; cores that others use as well take their share."""

GRACE = 1.0
"""Seconds that the other ranks get to answer after one has failed."""

LAST_LINES = 15
"""Lines of each rank's output in a failure."""


@dataclass(frozen=True)
class _Rank:
    process: BaseProcess
    connection: Connection
    log: Path
    read_from: int
    """Where in the log the output of the current job begins."""


class Pool:
    """Processes 0 to ``world - 1``, started at the first job and after each failure that broke their step.

    Args:
        world: how many.
        device: ``cpu``, or ``cuda`` for one device per rank.
        limit: seconds for one case.
    """

    def __init__(self, world: int, device: str = "cpu", limit: float = CASE_LIMIT) -> None:
        self.world, self.device, self.limit = world, device, limit
        self.starts = 0
        self._folder = Path(tempfile.mkdtemp(prefix="packproof-ranks-"))
        self._ranks: list[_Rank] = []

    def run(self, program: Program, *arguments: Any, context: int = 1, tensor: int = 1) -> list[Any]:
        """Results of a program on ranks 0 to ``context * tensor - 1``, in order.

        Raises:
            RankFailure: it failed on a rank, or a rank did not answer in time.
            NotSupported: the target that the program loads lacks an operation.
            StartFailure: the processes did not come up.
        """
        self._start()
        message = jobs.encode(Job(program, arguments, context, tensor))
        self._ranks = [_Rank(rank.process, rank.connection, rank.log, rank.log.stat().st_size) for rank in self._ranks]
        for rank in self._ranks:
            with contextlib.suppress(BrokenPipeError):  # a dead rank shows as one that does not answer
                rank.connection.send_bytes(message)
        answers = self._answers()
        if all(answer is not None and not answer.error and not answer.unsupported for answer in answers):
            return [answer.result for answer in answers if answer][: context * tensor]
        raise self._failure(program, answers)

    def close(self) -> None:
        """End the processes."""
        self._stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        if self._ranks and all(rank.process.is_alive() for rank in self._ranks):
            return
        self._stop()
        self.starts += 1
        server = multiprocessing.get_context("forkserver")
        server.set_forkserver_preload(["torch", worker.__name__])
        rendezvous = self._folder / f"rendezvous-{self.starts}"
        for number in range(self.world):
            ours, theirs = server.Pipe()
            log = self._folder / f"rank-{number}.{self.starts}.log"
            log.touch()
            process = server.Process(
                target=worker.serve,
                args=(number, self.world, self.device, rendezvous, log, theirs),
                daemon=True,
            )
            process.start()
            theirs.close()
            self._ranks.append(_Rank(process, ours, log, 0))
        ready = self._answers(START_LIMIT)
        if any(answer is None for answer in ready):
            raise StartFailure(f"the ranks did not start within {START_LIMIT:g} s\n{self._last_words(ready)}")

    def _answers(self, limit: float | None = None) -> list[Any]:
        """One answer per rank, None from those that died or did not answer in time."""
        answers: list[Any] = [None] * self.world
        open_ = {rank.connection: number for number, rank in enumerate(self._ranks)}
        end = time.monotonic() + (limit or self.limit)
        while open_ and (left := end - time.monotonic()) > 0:
            for connection in wait(list(open_), timeout=left):
                assert isinstance(connection, Connection)
                number = open_.pop(connection)
                try:
                    answers[number] = jobs.decode(connection.recv_bytes())
                except (EOFError, ConnectionResetError):
                    end = min(end, time.monotonic() + GRACE)
                else:
                    if isinstance(answers[number], Answer) and not answers[number].in_step:
                        end = min(end, time.monotonic() + GRACE)
        return answers

    def _failure(self, program: Program, answers: list[Answer | None]) -> Exception:
        """What went wrong; a pool that is out of step is ended."""
        in_step = all(answer is not None and answer.in_step for answer in answers)
        words = self._last_words(answers)
        if not in_step:
            self._stop()
        unsupported = [answer.unsupported for answer in answers if answer and answer.unsupported]
        if unsupported:
            return NotSupported(unsupported[0])
        return RankFailure(f"{program.__name__} failed on {self.world} ranks\n{words}")

    def _last_words(self, answers: list[Any]) -> str:
        silent = [rank.process for rank, answer in zip(self._ranks, answers, strict=True) if answer is None]
        for process in silent:
            if process.is_alive() and process.pid:
                os.kill(process.pid, signal.SIGUSR1)
        if silent:
            time.sleep(0.2)  # the time to write a traceback
        parts: list[str] = []
        for number, (rank, answer) in enumerate(zip(self._ranks, answers, strict=True)):
            lines = rank.log.read_bytes()[rank.read_from :].decode(errors="replace").splitlines()
            parts.append(f"--- rank {number}: {_state(rank.process, answer)}")
            parts += lines[-LAST_LINES:]
        return "\n".join(parts)

    def _stop(self) -> None:
        for rank in self._ranks:
            rank.connection.close()
            rank.process.kill()
        for rank in self._ranks:
            rank.process.join()
        self._ranks = []


def _state(process: BaseProcess, answer: Any) -> str:
    if answer is None:
        return "did not answer" if process.is_alive() else f"died with exit code {process.exitcode}"
    return "failed" if isinstance(answer, Answer) and (answer.error or answer.unsupported) else "done"
