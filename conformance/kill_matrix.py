"""`packproof museum`: every re-created bug against the laws that concern it."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import msgspec

from properties.law import Law, Verdict, catalogue
from properties.museum import Bug, museum
from properties.profiles import DEFAULT, profile


class Kill(msgspec.Struct, frozen=True):
    """One law on one bug.

    Attributes:
        bug: id of the bug.
        law: key of the law.
        killed: whether the law fails on the bug.
        examples: number of the first failing example, None when none failed.
        seconds: wall time, shrinking included.
        smallest: the shrunk failure in words, "" when there is none.
    """

    bug: str
    law: str
    killed: bool
    examples: int | None
    seconds: float
    smallest: str = ""


class Matrix(msgspec.Struct, frozen=True):
    """The kill matrix.

    Attributes:
        seed: of the draws.
        kills: one entry per bug and law that was run.
    """

    seed: int
    kills: tuple[Kill, ...]

    def killers(self, bug: str) -> tuple[Kill, ...]:
        """Laws that caught a bug, the quickest first."""
        found = [kill for kill in self.kills if kill.bug == bug and kill.killed]
        return tuple(sorted(found, key=lambda kill: kill.examples or 0))

    @property
    def survivors(self) -> tuple[str, ...]:
        """Bugs that no law caught."""
        return tuple(bug for bug in dict.fromkeys(kill.bug for kill in self.kills) if not self.killers(bug))

    @property
    def idle(self) -> tuple[str, ...]:
        """Laws that caught nothing."""
        busy = {kill.law for kill in self.kills if kill.killed}
        return tuple(sorted({kill.law for kill in self.kills} - busy))


def laws_for(bug: Bug, *, every: bool = False) -> list[Law]:
    """Laws that need an operation which the bug breaks; all laws with ``every``."""
    return [law for law in catalogue().values() if every or law.needs & bug.overrides]


def matrix(bugs: Iterable[str], *, every: bool = False, jobs: int = 1, seed: int = 0) -> Iterator[tuple[Kill, ...]]:
    """Run the matrix, one bug at a time per process, and yield each bug's row as it is done."""
    arguments = [(bug, every, seed) for bug in bugs]
    if jobs == 1:
        yield from itertools.starmap(row, arguments)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(row, *zip(*arguments, strict=True))


def row(bug_id: str, every: bool = False, seed: int = 0) -> tuple[Kill, ...]:
    """One bug against its laws."""
    bug = museum()[bug_id]
    implementation = bug.implementation()
    settings = profile(DEFAULT)
    kills: list[Kill] = []
    for law in laws_for(bug, every=every):
        outcome = law.run(implementation, profile=settings, run_seed=seed)
        killed = outcome.verdict is Verdict.FAILED
        kills.append(
            Kill(
                bug_id,
                law.key,
                killed,
                outcome.first_failure_at if killed else None,
                round(outcome.seconds, 4),
                outcome.message if killed else "",
            )
        )
    return tuple(kills)


def to_json(rows: Sequence[Sequence[Kill]], seed: int) -> bytes:
    """The matrix as JSON."""
    return msgspec.json.format(msgspec.json.encode(Matrix(seed, tuple(itertools.chain(*rows)))), indent=1)
