"""What `packproof matrix` shows: targets side by side, then what changed from each to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.cases import write_atomically
from conformance.changes import Changes, Difference
from conformance.events import Section, Status, Verdict
from conformance.law_changes import Behaviour, Change, behaviour
from conformance.reports.columns import release
from conformance.reports.markdown import text
from conformance.results import suites
from properties.law import catalogue

LISTS: Mapping[Change, str] = {
    Change.BROKEN: "new deviations",
    Change.FIXED: "fixed deviations",
    Change.LOST: "no longer supported",
    Change.GAINED: "supported now",
    Change.NEW: "laws that only the later run decided",
    Change.GONE: "laws that only the earlier run decided",
    Change.UNCLEAR: "unclear, for want of a verdict",
    Change.BASELINE: "listed otherwise in the baseline",
}
"""Kinds of changes of laws; each is a field of ``Changes``."""

TABLES = {
    "versions": "versions",
    "places": "import paths",
    "defaults": "settings and their defaults",
    "policies": "declared policies",
    "rules": "config rules",
    "pass_targets": "pass targets",
}
"""Kinds of changes of named values, by the field of ``Changes``."""

COLUMNS = (
    *("target", "imported", "passed", "failed", "known", "stale", "errors", "not supported"),
    "pass targets",
)


def print_matrix(console: Console, sections: Sequence[Section], changes: Sequence[Changes]) -> None:
    """Print the table of targets and every change."""
    console.print(_side_by_side([_row(section) for section in sections]))
    for change in changes:
        console.print(Text(f"\nfrom {change.before} to {change.after}", style="bold"))
        for line in _changes(change):
            console.print(Text(line), soft_wrap=True)


def _side_by_side(rows: Sequence[tuple[str, ...]]) -> Table:
    """Targets with what they come to, narrow enough for four releases on a terminal; empty columns are left out."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = [number for number in range(len(COLUMNS)) if any(row[number] not in {"", "0"} for row in rows)]
    for number in shown:
        table.add_column(COLUMNS[number], overflow="fold", no_wrap=number == 0, justify="left")
    for row in rows:
        table.add_row(*(Text(row[number]) for number in shown))
    return table


def write_markdown(sections: Sequence[Section], changes: Sequence[Changes], path: Path) -> None:
    """Write the same as Markdown, and the verdict on every law that not all targets agree on."""
    lines = ["# packproof matrix", "", *_table(COLUMNS, [_row(section) for section in sections]), ""]
    for change in changes:
        lines += [f"## From {text(change.before)} to {text(change.after)}", ""]
        lines += [f"* {text(line.strip())}" for line in _changes(change)] or ["* nothing"]
        lines.append("")
    lines += ["## Laws that the targets differ in", "", *_laws(sections), ""]
    write_atomically(path, "\n".join(lines).encode())


def write_json(sections: Sequence[Section], changes: Sequence[Changes], path: Path) -> None:
    """Write headers, verdicts by law and target, and changes as JSON."""
    verdicts: dict[str, dict[str, str]] = {}
    for section in sections:
        for verdict in section.verdicts:
            verdicts.setdefault(verdict.key, {})[section.header.target] = str(verdict.verdict)
    document = {
        "targets": [section.header for section in sections],
        "truncated": [section.header.target for section in sections if section.truncated],
        "laws": verdicts,
        "changes": changes,
    }
    write_atomically(path, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")


def _row(section: Section) -> tuple[str, ...]:
    counts = Counter(verdict.verdict for verdict in section.verdicts)
    numbers = (
        *(counts[status] for status in (Status.PASSED, Status.FAILED, Status.FAILED_AS_EXPECTED, Status.STALE)),
        counts[Status.HARNESS_ERROR] + counts[Status.ENVIRONMENT_ERROR],
        counts[Status.NOT_SUPPORTED],
    )
    tests = " ".join(f"{result.passed}/{result.expected}" for result in suites(section))
    imported = "truncated" if section.truncated else section.header.imported
    return (release(section.header), imported, *map(str, numbers), tests)


def _changes(change: Changes) -> Iterator[str]:
    laws = catalogue()
    for kind, title in LISTS.items():
        keys: tuple[str, ...] = getattr(change, kind)
        if keys:
            yield f"  {title} ({len(keys)}):"
        for key in keys:
            yield f"    {key} {laws[key].claim if key in laws else ''}".rstrip()
    for name, title in TABLES.items():
        values: tuple[Difference, ...] = getattr(change, name)
        if values:
            yield f"  {title} ({len(values)}):"
        for value in values:
            yield f"    {value.name}: {_side(value.before)} -> {_side(value.after)}"


def _side(value: str | None) -> str:
    return "-" if value is None else value


def _laws(sections: Sequence[Section]) -> list[str]:
    found = [{verdict.key: verdict for verdict in section.verdicts} for section in sections]
    rows = [
        (key, *(str(verdict.verdict) if verdict else "" for verdict in row))
        for key in sorted({key for verdicts in found for key in verdicts})
        for row in [[verdicts.get(key) for verdicts in found]]
        if _worth_a_row(row)
    ]
    return _table(("law", *(section.header.target for section in sections)), rows)


def _worth_a_row(row: Sequence[Verdict | None]) -> bool:
    """Whether the targets differ in a law, or one of them breaks it."""
    return len({verdict and verdict.verdict for verdict in row}) > 1 or any(
        verdict is not None and behaviour(verdict) is Behaviour.FAILS for verdict in row
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(text(cell) if cell != '---' else cell for cell in line)} |" for line in lines]
