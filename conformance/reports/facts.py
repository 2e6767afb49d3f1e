"""What the columns of a page measured, side by side, and where neighbours differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from conformance.enforced_rules import enforced_rules
from conformance.events import Section
from conformance.reports.columns import Column
from conformance.reports.findings import cut

GROUPS: Mapping[str, Callable[[Section], Mapping[str, str]]] = {
    "releases": lambda section: section.header.versions,
    "import places": lambda section: section.header.places,
    "defaults of settings": lambda section: section.header.defaults,
    "declared policies": lambda section: section.header.policies,
    "config rules": enforced_rules,
    "stand-ins": lambda section: dict.fromkeys(section.header.stand_ins, "stood in for"),
    "operations": lambda section: dict.fromkeys(section.header.operations, "offered"),
}
"""What a run says of its target, by the title of its part of the table."""


@dataclass(frozen=True)
class Fact:
    """One row.

    Attributes:
        name: what it is about.
        cells: one value per column; None where a target has no such thing.
        differs: for each column, whether it differs from the neighbour that it is compared with.
    """

    name: str
    cells: tuple[str | None, ...]
    differs: tuple[bool, ...]


@dataclass(frozen=True)
class Facts:
    """The rows of one part of the table.

    Attributes:
        title: of the part.
        differing: facts in which neighbours differ.
        same: the others.
    """

    title: str
    differing: tuple[Fact, ...]
    same: tuple[Fact, ...]

    def between(self, after: int) -> int:
        """Number of facts in which a column differs from its earlier neighbour."""
        return sum(fact.differs[after] for fact in self.differing)


def facts(shown: Sequence[Column], neighbours: Sequence[tuple[int, ...]], most: int) -> list[Facts]:
    """Parts of the table that any column says something of.

    Args:
        shown: columns of the page.
        neighbours: numbers of columns that are compared, the earlier one first.
        most: characters of one value.
    """
    earlier = {after: before for before, after in neighbours}
    found: list[Facts] = []
    for title, values in GROUPS.items():
        held = [values(column.section) for column in shown]
        rows = [_fact(name, held, earlier, most) for name in dict.fromkeys(name for one in held for name in one)]
        if rows:
            differing = tuple(row for row in rows if any(row.differs))
            found.append(Facts(title, differing, tuple(row for row in rows if not any(row.differs))))
    return found


def _fact(name: str, held: Sequence[Mapping[str, str]], earlier: Mapping[int, int], most: int) -> Fact:
    cells = [one.get(name) for one in held]
    differs = tuple(number in earlier and cells[number] != cells[earlier[number]] for number in range(len(cells)))
    return Fact(cut(name, most), tuple(cell if cell is None else cut(cell, most) for cell in cells), differs)
