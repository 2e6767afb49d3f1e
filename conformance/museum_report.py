"""What `packproof museum` found, as one record: the source of its JSON, its page and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

import msgspec

from conformance.figures import Figures, figures
from conformance.kill_matrix import GLANCE, SEARCH, Kill, Matrix
from conformance.redundancy import Redundancy, redundancy
from conformance.smallest import Smallest
from properties.census import KINDS
from properties.law import catalogue
from properties.museum import museum

SCHEMA = 1


class Killer(msgspec.Struct, frozen=True):
    """A law that caught a bug.

    Attributes:
        law: key of the law.
        first: number of the first input that broke it.
        share: part of the inputs tried that broke it, between 0 and 1.
    """

    law: str
    first: int
    share: float


class BugRow(msgspec.Struct, frozen=True):
    """One bug and what caught it.

    Attributes:
        id, area, source, text: of the bug.
        killers: laws that caught it, the surest first.
        smallest: what the first of them found; None when the bug survives.
    """

    id: str
    area: str
    source: str
    text: str
    killers: tuple[Killer, ...]
    smallest: Smallest | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the museum.

    Attributes:
        packproof: version.
        seed: of the draws.
        glance, search: inputs of a law that every bug, and that surviving bugs and idle laws were put to.
        seconds: wall time of the whole run.
        bugs: in order of id.
        survivors: bugs that no law caught.
        idle: laws that caught nothing, with what they guard; "" where they do not say.
        errors: what could not be decided, and why.
        figures: how soon bugs are found; None when no seeds were asked for.
        redundancy: what each law adds; None when only some bugs were run.
        inputs: how many of the first inputs of all laws are of each interesting kind.
    """

    schema: int = SCHEMA
    packproof: str
    seed: int
    glance: int = GLANCE
    search: int = SEARCH
    seconds: float
    bugs: tuple[BugRow, ...]
    survivors: tuple[str, ...]
    idle: dict[str, str]
    errors: dict[str, str]
    figures: Figures | None
    redundancy: Redundancy | None
    inputs: dict[str, int]


def report(
    matrix: Matrix,
    searches: Sequence[Smallest],
    drawn: Sequence[Mapping[str, int]],
    seconds: float,
    *,
    whole: bool,
) -> Report:
    """Sum up a run.

    Args:
        matrix: who caught what.
        searches: searches for smallest cases; those with other seeds than the matrix's make the figures.
        drawn: kinds of input by law.
        seconds: wall time of the run.
        whole: whether all bugs were run, so that something can be said about laws.
    """
    shown = {search.bug: search for search in reversed(searches)}
    return Report(
        packproof=version("packproof"),
        seed=matrix.seed,
        seconds=round(seconds, 1),
        bugs=tuple(_row(bug, matrix.killers(bug), shown.get(bug)) for bug in matrix.bugs),
        survivors=matrix.survivors,
        idle={key: catalogue()[key].guards for key in matrix.idle} if whole else {},
        errors={f"{kill.law} on {kill.bug}": kill.error for kill in matrix.errors},
        figures=figures([search for search in searches if search.seed != matrix.seed]),
        redundancy=redundancy(matrix) if whole else None,
        inputs={kind: sum(counts.get(kind, 0) for counts in drawn) for kind in KINDS if whole},
    )


def to_json(found: Report) -> bytes:
    """The record as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def _row(id: str, kills: Sequence[Kill], smallest: Smallest | None) -> BugRow:
    bug = museum()[id]
    killers = tuple(Killer(kill.law, kill.first or 0, round(kill.failed / kill.tried, 3)) for kill in kills)
    return BugRow(id, bug.area, bug.source, bug.text, killers, smallest)
