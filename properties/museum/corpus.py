"""Which known bugs there are, and where the museum does not hold one, why.

The list is `corpus.toml`; a test holds it against the museum, so that no entry is forgotten.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Corpus:
    """The entries of the bug corpus.

    Attributes:
        ids: of all entries.
        same: entries that are the defect of another one, with the bug that re-creates it.
        outside: entries that no operation can show, with the reason.
    """

    ids: tuple[str, ...]
    same: Mapping[str, str]
    outside: Mapping[str, str]

    def entry_of(self, bug: str) -> str | None:
        """The entry that a bug re-creates, None for a bug that comes from elsewhere."""
        return next((id for id in self.ids if bug == id or bug.startswith(f"{id}-")), None)

    def missing(self, bugs: Iterable[str]) -> tuple[str, ...]:
        """Entries that neither a bug nor a reason stands for."""
        held = {self.entry_of(bug) for bug in bugs}
        return tuple(id for id in self.ids if id not in held | self.same.keys() | self.outside.keys())


def corpus() -> Corpus:
    """The list as it is stored."""
    stored = tomllib.loads(files(__package__).joinpath("corpus.toml").read_text(encoding="utf-8"))
    return Corpus(tuple(stored["ids"]), stored["same"], stored["outside"])
