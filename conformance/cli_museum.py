"""`packproof museum`: options, table and exit code."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from conformance import kill_matrix
from conformance.cases import write_atomically
from conformance.exit_codes import ExitCode
from conformance.kill_matrix import Kill, Matrix
from properties.museum import museum as all_bugs


def museum(
    bug: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this bug; may be repeated.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every law, not only those that concern the bug.")] = False,
    jobs: Annotated[int, typer.Option(min=1)] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Shifts all draws.")] = 0,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write museum.json here.")] = None,
) -> None:
    """Run every re-created bug against the laws: each must be caught."""
    known = all_bugs()
    unknown = sorted(set(bug or ()) - set(known))
    console = Console()
    if unknown:
        Console(stderr=True).print(Text(f"packproof: no bug {', '.join(unknown)}: see `packproof list bugs`"))
        raise typer.Exit(ExitCode.USAGE)
    chosen = bug or list(known)
    rows = list(
        track(
            kill_matrix.matrix(chosen, every=every, jobs=min(jobs, len(chosen)), seed=seed),
            total=len(chosen), description="museum", console=Console(stderr=True), transient=True,
        )
    )  # fmt: skip
    if report:
        write_atomically(report / "museum.json", kill_matrix.to_json(rows, seed))
    found = Matrix(seed, tuple(itertools.chain(*rows)))
    console.print(_table(found, chosen))
    if found.idle and not bug:
        console.print(Text(f"laws that caught nothing: {', '.join(found.idle)}", style="yellow"), soft_wrap=True)
    survivors = [name for name in chosen if not found.killers(name)]
    console.print(f"{len(chosen) - len(survivors)} passed, {len(survivors)} failed, 0 skipped")
    raise typer.Exit(ExitCode.DEVIATION if survivors else ExitCode.OK)


def _table(found: Matrix, bugs: list[str]) -> Table:
    table = Table("bug", "caught by", "after", "what broke")
    for name in bugs:
        killers = found.killers(name)
        if killers:
            table.add_row(Text(name), Text(_laws(killers)), str(killers[0].examples), Text(_claim(killers[0])))
        else:
            table.add_row(Text(name, style="bold red"), Text("nothing: it survives", style="bold red"), "", "")
    return table


def _laws(killers: tuple[Kill, ...]) -> str:
    shown = ", ".join(kill.law for kill in killers[:3])
    return shown if len(killers) <= 3 else f"{shown} and {len(killers) - 3} more"


def _claim(kill: Kill) -> str:
    return kill.smallest.partition("\n")[0].removeprefix("does not hold: ")
