"""The event log: one JSON line for the header, one for each verdict, one for the footer.

Every report is made from it. A section without a footer is a truncated run. A file may hold several sections, one per
target.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from conformance.exit_codes import ExitCode
from properties.law import key_of


class LogError(ValueError):
    """A file that is no event log."""


class Status(StrEnum):
    """Verdict of a run on one law, the baseline taken into account."""

    PASSED = "passed"
    FAILED = "failed"
    FAILED_AS_EXPECTED = "failed as expected"
    STALE = "stale"
    NOT_SUPPORTED = "not supported"
    HARNESS_ERROR = "harness error"
    ENVIRONMENT_ERROR = "environment error"


class Blame(StrEnum):
    """Whose fault a verdict is."""

    NOBODY = "nobody"
    TARGET = "target"
    BASELINE = "baseline"
    HARNESS = "harness"
    ENVIRONMENT = "environment"


BLAME = {
    Status.PASSED: Blame.NOBODY,
    Status.NOT_SUPPORTED: Blame.NOBODY,
    Status.FAILED: Blame.TARGET,
    Status.FAILED_AS_EXPECTED: Blame.TARGET,
    Status.STALE: Blame.BASELINE,
    Status.HARNESS_ERROR: Blame.HARNESS,
    Status.ENVIRONMENT_ERROR: Blame.ENVIRONMENT,
}


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="header"):
    """Who was measured, with what.

    Attributes:
        imported: "plain" or "isolated".
        stand_ins: modules that were replaced because the executed path does not call them.
        planned: number of verdicts that a complete run has.
        places: import path of each part that a release may have moved, by what it does.
        defaults: default of each setting, by part and name.
        policies: declared policies by name.
    """

    packproof: str
    target: str
    target_version: str
    versions: dict[str, str]
    imported: str
    stand_ins: tuple[str, ...]
    operations: tuple[str, ...]
    python: str
    platform: str
    profile: str
    seed: int
    started: str
    baseline: str | None
    planned: int = 0
    places: dict[str, str] = {}
    defaults: dict[str, str] = {}
    policies: dict[str, str] = {}


class Verdict(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="verdict"):
    """What was found of one law.

    Attributes:
        case: path of the counterexample relative to the log's folder, or None.
        seconds: wall time.
        examples: examples that reached the target.
        upstream: issue or pull request of a known deviation, as its baseline names it.
        known_as: ids of a known deviation in the bug corpus or the specification.
    """

    law: str
    facet: str
    claim: str
    target: str
    target_version: str
    verdict: Status
    blame: Blame
    seconds: float
    examples: int
    case: str | None = None
    message: str = ""
    harm: str = ""
    upstream: str = ""
    known_as: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Key of the law in the catalogue."""
        return key_of(self.law, self.facet)


class PassTarget(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="pass target"):
    """What was found of one test of a pass-target suite."""

    suite: str
    test: str
    target: str
    target_version: str
    verdict: Status
    seconds: float
    message: str = ""


class Footer(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="footer"):
    """The run came to its end."""

    finished: str
    seconds: float
    counts: dict[str, int]
    exit_code: ExitCode
    problems: tuple[str, ...] = ()


Event = Header | Verdict | PassTarget | Footer


@dataclass
class Section:
    """The part of a log that belongs to one target."""

    header: Header
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    pass_targets: list[PassTarget] = field(default_factory=list[PassTarget])
    footer: Footer | None = None

    @property
    def truncated(self) -> bool:
        """Whether the run did not come to its end."""
        return self.footer is None


def append(path: Path, event: Event) -> None:
    """Add one line."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(event) + b"\n")


def read(path: Path) -> list[Section]:
    """Read a log; a half-written last line is a truncated run, any other broken line is an error.

    Raises:
        LogError: the file cannot be read or is no event log.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror}") from error
    sections: list[Section] = []
    for event in _events(path, lines):
        if isinstance(event, Header):
            sections.append(Section(event))
        elif not sections:
            raise LogError(f"{path} is no event log: it does not start with a header")
        elif isinstance(event, Footer):
            sections[-1].footer = event
        elif isinstance(event, PassTarget):
            sections[-1].pass_targets.append(event)
        else:
            sections[-1].verdicts.append(event)
    if not sections:
        raise LogError(f"{path} is empty: the run was stopped before its first verdict")
    return sections


def _events(path: Path, lines: list[bytes]) -> Iterator[Event]:
    decoder = msgspec.json.Decoder(Event)
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            if number == len(lines):  # no newline after it: the writer was stopped in the middle of the line
                return
            raise LogError(f"{path}, line {number}: {error}") from error


def json_schema() -> dict[str, Any]:
    """JSON Schema of one line."""
    return msgspec.json.schema(Event)


def python_version() -> str:
    """As the header writes it."""
    return sys.version.split()[0]
