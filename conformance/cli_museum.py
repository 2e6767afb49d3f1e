"""`packproof museum`: options, table and exit code."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance import cli_siblings, kill_matrix, museum_report
from conformance.cases import write_atomically
from conformance.cli_shared import plain_bars
from conformance.exit_codes import ExitCode
from conformance.kill_matrix import Matrix, kinds_drawn
from conformance.many import Workers
from conformance.museum_report import BugRow, Report
from conformance.redundancy import Redundancy
from conformance.reports import museum as page
from conformance.smallest import smallest
from properties.law import catalogue
from properties.museum import museum as all_bugs


def museum(
    bug: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this bug; may be repeated.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every law, not only those that concern the bug.")] = False,
    jobs: Annotated[int, typer.Option(min=1)] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Shifts all draws.")] = 0,
    seeds: Annotated[int, typer.Option(min=0, help="Further seeds, for the figures of how soon bugs are found.")] = 0,
    siblings: Annotated[bool, typer.Option("--siblings", help="Bugs generated from the reference instead.")] = False,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write museum.json and museum.html here.")] = None,
) -> None:
    """Run every re-created bug against the laws: each must be caught."""
    if siblings:
        with _workers(jobs) as workers:
            score = cli_siblings.measure(workers, seed, report)
        raise typer.Exit(cli_siblings.show(Console(), score))
    known = all_bugs()
    unknown = sorted(set(bug or ()) - set(known))
    console = Console()
    if unknown:
        Console(stderr=True).print(Text(f"packproof: no bug {', '.join(unknown)}: see `packproof list bugs`"))
        raise typer.Exit(ExitCode.USAGE)
    found = _run(tuple(dict.fromkeys(bug or known)), every=every, jobs=jobs, seed=seed, seeds=seeds, whole=not bug)
    if report:
        write_atomically(report / "museum.json", museum_report.to_json(found))
        page.write(found, report / "museum.html")
    console.print(_table(found))
    if found.redundancy:
        console.print(_redundancy_table(found.redundancy))
    for line, style in _notes(found):
        console.print(Text(line, style=style), soft_wrap=True)
    console.print(f"{len(found.bugs) - len(found.survivors)} passed, {len(found.survivors)} failed, 0 skipped")
    raise typer.Exit(_exit_code(found))


def _run(bugs: tuple[str, ...], *, every: bool, jobs: int, seed: int, seeds: int, whole: bool) -> Report:
    started = time.perf_counter()
    with _workers(jobs) as workers:
        matrix = kill_matrix.matrix(bugs, workers, every=every, seed=seed, laws_too=whole)
        searches = workers.map("smallest cases", smallest, _searches(matrix, seeds))
        drawn = workers.map("kinds of input", kinds_drawn, [(key, seed) for key in catalogue() if whole])
    return museum_report.report(matrix, searches, drawn, time.perf_counter() - started, whole=whole)


@contextmanager
def _workers(jobs: int) -> Iterator[Workers]:
    """Workers, with a bar that shows how far they are."""
    with plain_bars(Console(stderr=True)) as bar:
        task = bar.add_task("museum")

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        with Workers(jobs, show) as workers:
            yield workers


def _searches(matrix: Matrix, seeds: int) -> list[tuple[str, str, int]]:
    """Bug, law and seed of every search: the matrix's seed first, for the case that is shown."""
    chosen = [(bug, killers[0].law) for bug in matrix.bugs if (killers := matrix.killers(bug))]
    return [(bug, law, matrix.seed + shift) for shift in range(seeds + 1) for bug, law in chosen]


def _table(found: Report) -> Table:
    table = Table("bug", "caught by", "after", "what broke")
    for row in found.bugs:
        if row.killers:
            table.add_row(Text(row.id), Text(_laws(row)), _after(row), Text(_claim(row)))
        else:
            table.add_row(Text(row.id, style="bold red"), Text("nothing: it survives", style="bold red"), "", "")
    return table


def _redundancy_table(redundancy: Redundancy) -> Table:
    """Each law removed in turn."""
    table = Table("without", "these survive")
    for law, bugs in redundancy.survivors.items():
        table.add_row(Text(law), Text(", ".join(bugs)))
    return table


def _notes(found: Report) -> list[tuple[str, str]]:
    """Lines below the table, each with its style."""
    notes: list[tuple[str, str]] = []
    if found.figures:
        figures = found.figures
        notes.append(
            (
                f"{figures.searches} searches: median {figures.median_examples:g} examples, at most"
                f" {figures.maximum_examples} ({figures.slowest}); median {figures.median_seconds:.2f} s to a shrunk"
                f" case; {len(figures.missed)} missed",
                "",
            )
        )
    guarding = [key for key, guards in found.idle.items() if guards]
    silent = [key for key, guards in found.idle.items() if not guards]
    if guarding:
        notes.append((f"laws that guard what no known bug touches: {', '.join(guarding)}", ""))
    if silent:
        notes.append((f"laws that caught nothing and guard nothing named: {', '.join(silent)}", "bold red"))
    if found.redundancy:
        alone = found.redundancy
        notes.append(
            (f"{len(alone.survivors)} laws catch a bug that no other does; {len(alone.never_alone)} do not", "")
        )
    never = [kind for kind, number in found.inputs.items() if not number]
    if never:
        notes.append((f"never drawn: {', '.join(never)}", "yellow"))
    notes += [(f"not decided: {pair}: {why}", "bold red") for pair, why in found.errors.items()]
    if found.survivors:
        notes.append((f"no law catches {', '.join(found.survivors)}", "bold red"))
    return notes


def _exit_code(found: Report) -> ExitCode:
    if found.errors:
        return ExitCode.HARNESS
    idle = any(not guards for guards in found.idle.values())
    return ExitCode.DEVIATION if found.survivors or idle else ExitCode.OK


def _laws(row: BugRow) -> str:
    shown = ", ".join(killer.law for killer in row.killers[:3])
    return shown if len(row.killers) <= 3 else f"{shown} and {len(row.killers) - 3} more"


def _after(row: BugRow) -> str:
    return str(row.smallest.examples) if row.smallest and row.smallest.examples else ""


def _claim(row: BugRow) -> str:
    message = row.smallest.message if row.smallest else ""
    return message.partition("\n")[0].removeprefix("does not hold: ")
