"""What a page shows of a law beside its verdicts: each distinct finding once, for all columns that share it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from conformance import cases, svg
from conformance.cases import Case, CaseError
from conformance.events import Status, Verdict
from conformance.pictures import pictures_of
from conformance.reports.columns import Column, Log
from conformance.reports.links import links

Plain = dict[str, Any]


@dataclass(frozen=True)
class Detail:
    """How much a page shows, so that it stays small.

    Attributes:
        text: characters of one message or value.
        picture: characters of one drawing; longer ones are left out.
        inputs: show inputs of cases that have no drawing.
    """

    text: int
    picture: int
    inputs: bool


@dataclass(frozen=True)
class Finding:
    """What one column found of one law.

    Attributes:
        column: number of the column.
        run: number of the run, in a column of several.
        verdict: from its log.
        case: the counterexample, None when there is none or it cannot be read.
        problem: why it cannot be read.
    """

    column: int
    run: int
    verdict: Verdict
    case: Case | None = None
    problem: str = ""

    @property
    def identity(self) -> str:
        """Findings with the same identity are shown as one."""
        inputs = json.dumps(self.case.inputs, sort_keys=True) if self.case else ""
        got = (self.case.expected, self.case.got) if self.case else ()
        verdict = self.verdict
        return repr((verdict.verdict, verdict.message, verdict.upstream, inputs, got, self.problem))


@dataclass(frozen=True)
class Group:
    """Findings on one law that are the same.

    Attributes:
        members: one per column.
        drawings: name, SVG and note of each drawing of the case; the SVG is "" where there is nothing to draw.
        problem: why the case cannot be read or drawn.
    """

    members: tuple[Finding, ...]
    drawings: tuple[tuple[str, str, str], ...] = ()
    problem: str = ""


def findings(columns: Sequence[Column], key: str) -> list[Group]:
    """Findings on one law, those that are the same together; a passed law has none."""
    groups: dict[str, list[Finding]] = {}
    for number, column in enumerate(columns):
        verdict = column.verdicts.get(key)
        if verdict is not None and verdict.verdict is not Status.PASSED:
            found = _finding(number, column, verdict)
            groups.setdefault(found.identity, []).append(found)
    return [_group(tuple(members)) for members in groups.values()]


def _group(members: tuple[Finding, ...]) -> Group:
    case = members[0].case
    if case is None:
        return Group(members, problem=members[0].problem)
    try:
        pictures = pictures_of(cases.inputs_of(case, cases.law_of(case)))
    except CaseError as error:
        return Group(members, problem=str(error))
    return Group(members, tuple((picture.name, svg.svg(picture), picture.note) for picture in pictures))


def _finding(number: int, column: Column, verdict: Verdict) -> Finding:
    run = column.log.origin(verdict.key)
    folder = column.log.runs[run].folder
    if not verdict.case or folder is None:
        return Finding(number, run, verdict)
    path = folder / verdict.case
    if not path.resolve().is_relative_to(folder.resolve()):
        return Finding(number, run, verdict, problem="the case lies outside of the run's folder")
    try:
        return Finding(number, run, verdict, cases.read(path))
    except CaseError as error:
        return Finding(number, run, verdict, problem=str(error))


def plain(group: Group, detail: Detail, drawings: Sequence[int], notes: Sequence[str]) -> Plain:
    """A group as data of the page; what is empty is left out.

    Args:
        group: findings that are the same.
        detail: how much to show.
        drawings: numbers of its drawings on the page.
        notes: what is to be said below them.
    """
    first = group.members[0]
    case = first.case
    message = first.verdict.message.removeprefix(f"{first.verdict.harm}\n")  # the page shows the harm beside it
    expected, got = (case.expected, case.got) if case else (None, None)
    if case:
        message = "\n".join(_without_values(message, case))
    shown: Plain = {
        "columns": [found.column for found in group.members],
        "runs": [found.run for found in group.members] if any(found.run for found in group.members) else [],
        "verdict": first.verdict.verdict,
        "message": cut(message, detail.text),
        "expected": cut(expected or "", detail.text),
        "got": cut(got or "", detail.text),
        "drawings": list(drawings),
        "inputs": cut(json.dumps(case.inputs), detail.text) if case and detail.inputs and not drawings else "",
        "notes": [cut(note, detail.text) for note in notes if note],
        "cases": [shlex.quote(str(found.verdict.case)) for found in group.members] if case else [],
        "upstream": first.verdict.upstream,
        "links": links(first.verdict.upstream),
        "known": list(first.verdict.known_as),
    }
    return {name: value for name, value in shown.items() if value}


def cut(text: str, most: int) -> str:
    """The beginning of a text, and how much was left out."""
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most} characters more)"


def _without_values(message: str, case: Case) -> Iterator[str]:
    """The lines of a failure that its case does not repeat."""
    repeated = tuple(
        f"{name:>10}: " for name, value in (("expected", case.expected), ("got", case.got)) if value is not None
    )
    for line in message.split("\n"):
        if not line.startswith(repeated):
            yield line


def replay(run: Log) -> tuple[str, str]:
    """What stands before and after the case in the command that replays it on the run's target.

    Parts that are quoted each on their own make one word of a shell, like the whole.
    """
    folder = f"{shlex.quote(str(run.folder))}/" if run.folder else ""
    return f"packproof replay {folder}", f" --target {shlex.quote(run.section.header.target)}"
