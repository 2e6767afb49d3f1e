"""The kill matrix: every re-created bug against the laws that come to what it breaks.

Every law's inputs are drawn once and put to all bugs that it comes to: a few inputs for everything, then more for the
bugs that survived and for the laws that caught nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from conformance.many import Workers
from properties.census import census
from properties.law import Law, Verdict, catalogue
from properties.museum import Bug, museum
from properties.tracing import concerns, drawn
from reference_impl.interface import Op

GLANCE, SEARCH = 8, 50
"""Inputs of a law that are put to every bug; to bugs that survive them, and to laws that caught nothing."""

ENOUGH = 2
"""Inputs that a bug fails before a law is done with it: the share of failing inputs is known well enough then."""

INDIRECT = 4
"""Where a law comes to a broken operation through others only, it is put to this part of the inputs."""

DEAR = {Op.PREPARE_TEXT}
"""Laws that need these prepare real text anew for each bug: they are put to bugs that no other law has caught."""


class Kill(msgspec.Struct, frozen=True):
    """One law on one bug.

    Attributes:
        bug: id of the bug.
        law: key of the law.
        tried: inputs that were put to the bug; no more once ``ENOUGH`` of them have failed.
        failed: how many of them broke the law.
        first: number of the first that did, None if none did.
        error: why the law could not be decided; "" normally.
    """

    bug: str
    law: str
    tried: int
    failed: int
    first: int | None
    error: str = ""

    @property
    def killed(self) -> bool:
        """Whether the law caught the bug."""
        return self.failed > 0


@dataclass(frozen=True)
class Matrix:
    """All kills of a run.

    Attributes:
        bugs: ids, in order.
        seed: of the draws.
        kills: one entry per law and bug that it comes to.
    """

    bugs: tuple[str, ...]
    seed: int
    kills: tuple[Kill, ...]

    def killers(self, bug: str) -> tuple[Kill, ...]:
        """Laws that caught a bug; the one that fails on the largest share of its inputs comes first."""
        return tuple(sorted((kill for kill in self._of.get(bug, ()) if kill.killed), key=surest))

    @cached_property
    def survivors(self) -> tuple[str, ...]:
        """Bugs that no law caught."""
        return tuple(bug for bug in self.bugs if not any(kill.killed for kill in self._of.get(bug, ())))

    @cached_property
    def idle(self) -> tuple[str, ...]:
        """Laws that caught nothing, those that come to no bug at all included."""
        busy = {kill.law for kill in self.kills if kill.killed}
        return tuple(key for key in catalogue() if key not in busy)

    @cached_property
    def errors(self) -> tuple[Kill, ...]:
        """What could not be decided."""
        return tuple(kill for kill in self.kills if kill.error)

    @cached_property
    def _of(self) -> Mapping[str, Sequence[Kill]]:
        grouped: defaultdict[str, list[Kill]] = defaultdict(list)
        for kill in self.kills:
            grouped[kill.bug].append(kill)
        return grouped


def matrix(
    bugs: Iterable[str], workers: Workers, *, every: bool = False, seed: int = 0, laws_too: bool = True
) -> Matrix:
    """Put bugs to the laws: all at a glance, then what nothing was found for.

    Args:
        bugs: ids.
        workers: who does it.
        every: every law, not only those that come to what a bug breaks.
        seed: shifts all draws.
        laws_too: whether laws that caught nothing at a glance are tried harder; some bugs say nothing about laws.
    """
    chosen = tuple(bugs)
    laws = catalogue()
    cheap = [key for key, law in laws.items() if not law.needs & DEAR]
    rows = workers.map("bugs at a glance", screen, [(key, chosen, every, GLANCE, seed) for key in cheap])
    found = Matrix(chosen, seed, tuple(kill for row in rows for kill in row))
    later: list[tuple[Kill, ...]] = []
    for keys in (_direct(found.survivors), tuple(laws)):
        hidden = Matrix(chosen, seed, (*found.kills, *(kill for row in later for kill in row))).survivors
        later += workers.map("surviving bugs", screen, [(key, hidden, every, SEARCH, seed) for key in keys if hidden])
    if laws_too:
        later += workers.map("laws that caught nothing", first_catch, _idle(found, cheap, seed))
        deadliest = sorted(chosen, key=lambda bug: -len(found.killers(bug)))
        later += workers.map("laws on real text", first_catches, [(tuple(laws.keys() - set(cheap)), deadliest, seed)])
    kills = {(kill.law, kill.bug): kill for kill in (*found.kills, *(kill for row in later for kill in row))}
    return Matrix(chosen, seed, tuple(kills.values()))


def _direct(bugs: Iterable[str]) -> tuple[str, ...]:
    """Laws that need what one of the bugs breaks."""
    broken = {op for bug in bugs for op in museum()[bug].overrides}
    return tuple(key for key, law in catalogue().items() if law.needs & broken)


def _idle(found: Matrix, keys: Iterable[str], seed: int) -> list[tuple[str, Sequence[str], int]]:
    """Laws that caught nothing yet, with all bugs."""
    busy = {kill.law for kill in found.kills if kill.killed}
    return [(key, found.bugs, seed) for key in keys if key not in busy]


def screen(key: str, bugs: Sequence[str], every: bool, number: int, seed: int) -> tuple[Kill, ...]:
    """One law on the bugs that it comes to, on its first inputs; on a part where it comes there through others."""
    law = catalogue()[key]
    known = museum()
    subjects = [known[bug] for bug in bugs]
    if any(law.needs & bug.overrides for bug in subjects):
        drawn(key, number, seed)  # all at once, before ``concerns`` asks for the first few of them
    return tuple(
        tried(law, bug, number if law.needs & bug.overrides else max(1, number // INDIRECT), seed)
        for bug in subjects
        if every or concerns(law, bug)
    )


def tried(law: Law, bug: Bug, number: int, seed: int) -> Kill:
    """One law on one bug, on its first inputs."""
    implementation = bug.implementation()
    examples, failed, first = 0, 0, None
    for inputs in drawn(law.key, number, seed):
        with np.errstate(all="ignore"):  # a bug may divide by zero, and then its result is judged
            outcome = law.replay(implementation, inputs)
        if outcome.verdict is Verdict.HARNESS_ERROR:
            return Kill(bug.id, law.key, examples, failed, first, outcome.message)
        examples += outcome.examples
        if outcome.verdict is Verdict.FAILED:
            failed += 1
            first = first or examples
            if failed == ENOUGH:
                break
    return Kill(bug.id, law.key, examples, failed, first)


def first_catch(key: str, bugs: Sequence[str], seed: int) -> tuple[Kill, ...]:
    """The first bug that a law catches, those first that break what it needs itself; none if it catches none.

    All bugs are put to one input before the next one is drawn: most are caught by the first that comes to them.
    """
    law = catalogue()[key]
    known = museum()
    subjects = [known[id] for id in bugs if concerns(law, known[id])]
    subjects.sort(key=lambda bug: not law.needs & bug.overrides)
    implementations = [bug.implementation() for bug in subjects]
    for number, inputs in enumerate(drawn(key, SEARCH, seed), 1):
        for bug, implementation in zip(subjects, implementations, strict=True):
            if law.replay(implementation, inputs).verdict is Verdict.FAILED:
                return (Kill(bug.id, key, number, 1, number),)
    return ()


def first_catches(keys: Sequence[str], bugs: Sequence[str], seed: int) -> tuple[Kill, ...]:
    """The first bug that each of several laws catches; what a law prepares with a bug serves the other laws too."""
    caught: dict[str, Kill] = {}
    for bug in bugs:
        implementation = museum()[bug].implementation()
        for key in [key for key in keys if key not in caught]:
            for number, inputs in enumerate(drawn(key, SEARCH, seed), 1):
                if key not in caught and catalogue()[key].replay(implementation, inputs).verdict is Verdict.FAILED:
                    caught[key] = Kill(bug, key, number, 1, number)
        if len(caught) == len(keys):
            break
    return tuple(caught.values())


def kinds_drawn(key: str, seed: int) -> dict[str, int]:
    """How often a law is given inputs of the interesting kinds, in its first inputs."""
    return dict(census(drawn(key, GLANCE, seed)))


def surest(kill: Kill) -> tuple[float, int, bool, str]:
    """Sorts kills: those first that fail on the largest share of inputs, earliest, and by the operation itself."""
    needs = catalogue()[kill.law].needs
    return (-kill.failed / kill.tried, kill.first or 0, not needs & museum()[kill.bug].overrides, kill.law)
