"""`packproof report`: one page for one or several runs."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from conformance.events import LogError
from conformance.law_changes import Change, changed
from conformance.reports import html
from conformance.reports.columns import Column, Log, columns
from conformance.reports.merging import merge
from conformance.reports.reading import logs_of, paired


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="Folders of `packproof run --report`.")],
    page: Annotated[Path, typer.Option("--html", metavar="F", help="Where to write.")] = Path("packproof.html"),
    diff: Annotated[bool, typer.Option("--diff", help="Compare two runs: what is new, fixed, changed.")] = False,
) -> None:
    """Write one page for one or several runs; runs of one target, such as on a GPU and on CPUs, are merged."""
    console = Console()
    logs, alone = _compared(runs) if diff else (merge([log for run in runs for log in logs_of(run)]), [])
    try:
        html.write(logs, page, diff=diff)
    except OSError as error:
        raise LogError(f"--html {page} cannot be written: {error.strerror}") from error
    for column in columns(logs):
        if column.log.merged:
            names = ", ".join(run.name for run in column.log.runs)
            console.print(Text(f"merged into {column.handle}: {names}"), soft_wrap=True)
    if diff:
        for before, after in itertools.batched(columns(logs), 2):
            console.print(Text(_sentence(before, after)), soft_wrap=True)
    if alone:
        console.print(Text(f"measured in one of the two runs only: {', '.join(alone)}"), soft_wrap=True)
    console.print(Text(f"page: {page}"), soft_wrap=True)


def _compared(runs: list[Path]) -> tuple[list[Log], list[str]]:
    if len(runs) != 2:
        raise LogError(f"--diff compares two runs, not {len(runs)}: name two folders")
    return paired(logs_of(runs[0]), logs_of(runs[1]))


def _sentence(before: Column, after: Column) -> str:
    found = Counter(changed(before.section, after.section).values())
    counts = [f"{found[kind]} {kind}" for kind in Change if found[kind]]
    return f"{before.handle} to {after.handle}: {', '.join(counts) or 'nothing changed'}"
