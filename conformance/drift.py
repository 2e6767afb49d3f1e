"""Which releases show which known bug: from the verdicts of runs, for the bugs of a data file.

A bug of the corpus is looked for with the laws that its row names. It is *found* in a release where one of them is
broken, *not found* where one holds and none is broken, and *not reachable* where none has a verdict, or where the row
says what hides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from conformance.events import Section
from conformance.law_changes import Behaviour, behaviours

FILE = Path(__file__).parent / "drift.toml"


class Finding(StrEnum):
    """What a run says of a bug."""

    FOUND = "found"
    NOT_FOUND = "not found"
    NOT_REACHABLE = "not reachable"


class Bug(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fixed bug whose wrong result was once reproduced.

    Attributes:
        id: in the bug corpus.
        laws: keys of the laws that show it; empty where no operation reaches it.
        why: why no operation reaches it.
        hidden: why a release cannot show it, by release; the laws' verdicts there say something else.
        note: what surprises in the row.
        releases: the expected finding by release.
    """

    id: str
    laws: tuple[str, ...] = ()
    why: str = ""
    hidden: dict[str, str] = {}
    note: str = ""
    releases: dict[str, Finding] = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    releases: tuple[str, ...]
    bug: tuple[Bug, ...]


@dataclass(frozen=True)
class Cell:
    """One bug in one release."""

    bug: str
    release: str
    finding: Finding
    why: str


def read(path: Path = FILE) -> tuple[tuple[str, ...], tuple[Bug, ...]]:
    """Releases and bugs of a data file."""
    content = msgspec.toml.decode(path.read_bytes(), type=_File)
    return content.releases, content.bug


def expected(releases: Sequence[str], bugs: Sequence[Bug]) -> tuple[Cell, ...]:
    """The table as the data file has it; a release that a row does not name is not reachable."""
    return tuple(
        Cell(bug.id, release, finding, _why(bug, release) if finding is Finding.NOT_REACHABLE else bug.note)
        for bug in bugs
        for release in releases
        for finding in [bug.releases.get(release, Finding.NOT_REACHABLE)]
    )


def measured(sections: Sequence[Section], bugs: Sequence[Bug]) -> tuple[Cell, ...]:
    """The table as runs have it, one section per release."""
    found = {section.header.target_version: behaviours(section) for section in sections}
    return tuple(
        Cell(bug.id, release, finding, _why(bug, release) if finding is Finding.NOT_REACHABLE else bug.note)
        for bug in bugs
        for release, verdicts in found.items()
        for finding in [_finding(bug, release, verdicts)]
    )


def _finding(bug: Bug, release: str, verdicts: Mapping[str, Behaviour]) -> Finding:
    if release in bug.hidden:
        return Finding.NOT_REACHABLE
    seen = {verdicts[key] for key in bug.laws if key in verdicts}
    if Behaviour.FAILS in seen:
        return Finding.FOUND
    return Finding.NOT_FOUND if Behaviour.HOLDS in seen else Finding.NOT_REACHABLE


def _why(bug: Bug, release: str) -> str:
    return bug.hidden.get(release) or bug.why or f"the operation does not exist in {release}"
