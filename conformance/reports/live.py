"""What a terminal shows while a target is measured: a bar, and every loud verdict as soon as it is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from conformance.events import Section
from conformance.reports.terminal import STYLE
from conformance.results import LOUD


@contextmanager
def live(console: Console, title: str, total: int) -> Iterator[Callable[[Section], None]]:
    """A bar that goes away at the end; gives the function that brings it up to date.

    Args:
        console: where to show it; nothing is shown on one that is no terminal.
        title: what is measured.
        total: verdicts that a complete run has.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    told: set[str] = set()
    with Progress(*columns, TextColumn("{task.fields[last]}"), console=console, transient=True) as bar:
        task = bar.add_task(title, total=total, last="")

        def show(section: Section) -> None:
            for verdict in section.verdicts:
                if verdict.verdict in LOUD and verdict.key not in told and console.is_terminal:
                    told.add(verdict.key)
                    words = f"{verdict.verdict}  {verdict.key}  {verdict.claim}"
                    bar.console.print(Text(words, style=STYLE[verdict.verdict], overflow="ellipsis", no_wrap=True))
            last = section.verdicts[-1].key if section.verdicts else ""
            done = len(section.verdicts) + len(section.pass_targets)
            bar.update(task, completed=done, last=last.replace("[", r"\["))

        yield show
