"""Known deviations of a target: a TOML file that pins each by law, facet and case.

    [[deviation]]
    law = "THD-004"
    facet = "no sentinel"
    case = "cases/THD-004-no-sentinel.json"
    harm = "attention sees no boundary at all"
    upstream = "Megatron-Bridge #4400"
    since = "0.3.1"
    until = "0.5.1"
    review_by = 2027-06-01

An entry is decided by its case: it still fails (*failed as expected*) or it passes (*stale*, which fails the run).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from properties.law import key_of

FOLDER = Path(__file__).parent / "baselines"


class BaselineError(ValueError):
    """A baseline that cannot be read."""


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known deviation.

    Attributes:
        law, facet: the law that it breaks.
        case: path of the counterexample relative to the baseline; None leaves the decision to a search.
        harm: what a user suffers, in one sentence.
        upstream: issue or pull request, "" when none is known.
        known_as: ids in the bug corpus or in the release notes of the specification (``MB-12``, ``S19``).
        since, until: first and last release known to show it.
        review_by: day on which somebody should look again.
    """

    law: str
    facet: str = ""
    case: str | None = None
    harm: str
    upstream: str = ""
    known_as: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    review_by: datetime.date | None = None

    @property
    def key(self) -> str:
        """Key of the law in the catalogue."""
        return key_of(self.law, self.facet)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    deviation: tuple[Deviation, ...] = ()


@dataclass(frozen=True)
class Baseline:
    """Deviations of one target.

    Attributes:
        path: where they were read, None for the empty baseline.
        deviations: entries in file order.
    """

    path: Path | None = None
    deviations: tuple[Deviation, ...] = ()

    def of(self, key: str) -> tuple[Deviation, ...]:
        """Entries for one law."""
        return tuple(entry for entry in self.deviations if entry.key == key)

    def case_path(self, entry: Deviation) -> Path | None:
        """Where an entry's case lies."""
        return self.path.parent / entry.case if self.path and entry.case else None

    def unknown(self, keys: Iterable[str]) -> tuple[Deviation, ...]:
        """Entries for laws that do not exist."""
        known = set(keys)
        return tuple(entry for entry in self.deviations if entry.key not in known)


def read(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineError: the file is missing or malformed.
    """
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise BaselineError(f"the baseline {path} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise BaselineError(f"the baseline {path} is malformed: {error}") from error
    return Baseline(path, content.deviation)


def find(target: str, version: str) -> Baseline:
    """The baseline that packproof ships for a release, or the empty one."""
    path = FOLDER / f"{target}-{version}.toml"
    return read(path) if path.is_file() else Baseline()


def resolve(choice: str | None, target: str, version: str) -> Baseline:
    """The baseline that a user asked for: a file, ``none``, or None for the one that is shipped.

    Raises:
        BaselineError: the file is missing or malformed.
    """
    if choice is None:
        return find(target, version)
    return Baseline() if choice == "none" else read(Path(choice))
