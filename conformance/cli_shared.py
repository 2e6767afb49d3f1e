"""What the commands that measure share: the report folder, the self-check, progress and sentences."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from conformance import running
from conformance.events import Section
from conformance.exit_codes import ExitCode
from conformance.reports import terminal
from conformance.results import LOUD, exit_code
from conformance.targets.loading import Description
from properties.profiles import profile


def check_selection(plan: running.Plan) -> None:
    """Leave when no law matches."""
    if not running.selected(plan.laws):
        raise typer.Exit(
            say(ExitCode.NOTHING_RAN, f"no law matches {', '.join(plan.laws)}: see `packproof list laws`")
        )


def passes_self_check(console: Console, plan: running.Plan, targets: Iterable[Description]) -> bool:
    """Whether the reference obeys the laws that the targets are measured by; what it breaks is printed."""
    operations = sorted({operation for target in targets for operation in target.operations})
    if not operations:
        return True
    part = f"reference:{','.join(operations)}"
    with tempfile.TemporaryDirectory(prefix="packproof-") as scratch:
        checked = measured(console, part, plan.for_self_check(), Path(scratch) / "events.jsonl", "self-check")
        if exit_code(checked) in {ExitCode.OK, ExitCode.NOTHING_RAN} and not checked.truncated:
            return True
        terminal.print_section(console, checked, None)
    say(ExitCode.HARNESS, "the self-check failed: the reference breaks laws of its own")
    return False


def progress_bars(console: Console) -> Progress:
    """Bars with a count of failures beside them; ``bad`` is a field of each task."""
    return plain_bars(console, TextColumn("{task.fields[bad]}"))


def plain_bars(console: Console, *more: ProgressColumn) -> Progress:
    """Bars that leave nothing behind, with a count, the time, and ``more`` columns."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, *more, console=console, transient=True)


def advance(bar: Progress, task: TaskID, section: Section) -> None:
    """Show how far a section is."""
    bad = sum(verdict.verdict in LOUD for verdict in section.verdicts)
    done = len(section.verdicts) + len(section.pass_targets)
    bar.update(task, completed=done, bad=f"[red]{bad} failed[/red]" if bad else "")


def measured(
    console: Console,
    target: str,
    plan: running.Plan,
    log: Path,
    title: str,
    description: Description | None = None,
    environment: dict[str, str] | None = None,
) -> Section:
    """Measure one target, showing progress."""
    description = description or running.describe_here(target)
    measurement = running.start(target, description, plan, log, environment or running.environment_of())
    with progress_bars(Console(stderr=True)) as bar:
        task = bar.add_task(title, total=running.planned(plan), bad="")
        section = measurement.wait(lambda found: advance(bar, task, found))
    if section.truncated:
        console.print(Text(measurement.last_words()), soft_wrap=True)
    return section


def known_profile(name: str) -> str:
    """The name of a profile that exists."""
    try:
        profile(name)
    except ValueError as error:
        raise typer.Exit(say(ExitCode.USAGE, str(error))) from error
    return name


@contextmanager
def report_folder(report: Path | None) -> Iterator[Path]:
    """The report folder, emptied of an earlier run's log and cases; a temporary one when none is asked for."""
    if report is None:
        with tempfile.TemporaryDirectory(prefix="packproof-") as scratch:
            yield Path(scratch)
        return
    try:
        report.mkdir(parents=True, exist_ok=True)
        for log in report.glob("*events.jsonl"):
            log.unlink()
        shutil.rmtree(report / "cases", ignore_errors=True)
        (report / "events.jsonl").touch()
    except OSError as error:
        raise typer.Exit(say(ExitCode.USAGE, f"cannot write to --report {report}: {error.strerror}")) from error
    yield report


def say(code: ExitCode, sentence: str) -> ExitCode:
    """Print why a command ends, and return the code that it ends with."""
    Console(stderr=True).print(Text(f"packproof: {sentence}"), soft_wrap=True)
    return code
