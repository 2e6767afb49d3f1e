"""`packproof matrix`: options, progress and exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from conformance import changes, running
from conformance import matrix as several
from conformance.cli_shared import (
    advance,
    check_selection,
    known_profile,
    passes_self_check,
    progress_bars,
    report_folder,
    say,
)
from conformance.events import Section
from conformance.exit_codes import ExitCode
from conformance.reports import files, terminal
from conformance.reports import matrix as matrix_reports
from conformance.results import LOUD, counts, worst
from conformance.running import Plan
from properties.profiles import EXAMPLES


def matrix(
    targets: Annotated[list[str], typer.Argument(help="Targets or releases, oldest first.")],
    law: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Only laws whose id matches.")] = None,
    profile_name: Annotated[str, typer.Option("--profile", help=f"One of {', '.join(EXAMPLES)}.")] = "pr",
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes, shared by the targets.")] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Shifts all draws.")] = 0,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write logs, reports and cases here.")] = None,
    baseline_choice: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE|none", help="Known deviations.")
    ] = None,
    time_limit: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="For one law, before it hangs.")] = 120,
) -> None:
    """Measure several targets, one process each, and say what changed from each to the next."""
    twice = sorted({target for target in targets if targets.count(target) > 1})
    if twice:
        raise typer.Exit(say(ExitCode.USAGE, f"{twice[0]} is named twice; name each target once"))
    plan = Plan(tuple(law or ()), known_profile(profile_name), jobs, seed, time_limit, baseline_choice)
    check_selection(plan)
    console = Console()
    with report_folder(report) as folder:
        prepared = several.prepare(targets)
        if not passes_self_check(console, plan, [item.description for item in prepared]):
            raise typer.Exit(ExitCode.HARNESS)
        sections = _measure(prepared, plan, folder)
        _report(console, sections, folder, kept=report is not None)
    raise typer.Exit(worst(section.footer.exit_code if section.footer else ExitCode.TARGET for section in sections))


def _measure(prepared: list[several.Prepared], plan: Plan, folder: Path) -> list[Section]:
    with progress_bars(Console(stderr=True)) as bar:
        total = running.planned(plan)
        tasks = {item.target: bar.add_task(item.target, total=total, bad="") for item in prepared}
        return several.measure(prepared, plan, folder, lambda target, found: advance(bar, tasks[target], found))


def _report(console: Console, sections: list[Section], folder: Path, *, kept: bool) -> None:
    """Print and write; only what makes the run red is shown in full."""
    for section in sections:
        if section.truncated or any(verdict.verdict in LOUD for verdict in section.verdicts):
            terminal.print_section(console, section, folder if kept else None)
    changed = changes.between_neighbours(sections)
    matrix_reports.print_matrix(console, sections, changed)
    if kept:
        matrix_reports.write_markdown(sections, changed, folder / "matrix.md")
        matrix_reports.write_json(sections, changed, folder / "matrix.json")
        files.write(sections, folder)
        console.print(Text(f"report: {folder}"), soft_wrap=True)
    for line in counts(sections):
        console.print(Text(line))
