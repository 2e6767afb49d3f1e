"""``packproof upstream``: run a Megatron Bridge checkout's own verification of sequence packing."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance import upstream as engine
from conformance.exit_codes import ExitCode
from conformance.upstream_report import CommandResult, UpstreamReport, printable

_COLUMNS = ("command", "claimed", "expected", "selected", "passed", "failed", "skipped")


def upstream(
    checkout: Annotated[Path, typer.Option(help="Folder of a Megatron Bridge checkout.")],
    expect: Annotated[
        str | None,
        typer.Option(help="Counts that must pass, such as 8,14,2, or `auto`: every selected test. Default: recorded."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Folder for upstream.json and upstream.md.")] = None,
) -> None:
    """Run the verification that a Bridge checkout describes for sequence packing, on CPU or GPU."""
    try:
        expectation = engine.Expectation.parse(expect) if expect is not None else None
        _make(report)
        with Console(stderr=True).status("running the tests of the checkout"):
            result = engine.verify(checkout, expectation)
        _save(result, report)
    except engine.UpstreamError as error:
        Console(stderr=True, soft_wrap=True).print(Text(f"error: {printable(str(error))}"))
        raise typer.Exit(ExitCode.USAGE) from error
    show(result, Console(soft_wrap=True, highlight=False))
    raise typer.Exit(result.verdict)


def _make(folder: Path | None) -> None:
    """Make the folder of the reports before minutes are spent."""
    try:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise engine.UpstreamError(f"--report {folder} cannot be made: {error.strerror}") from error


def _save(result: UpstreamReport, folder: Path | None) -> None:
    try:
        if folder:
            _write(folder / "upstream.json", result.to_json())
            _write(folder / "upstream.md", markdown(result).encode())
    except OSError as error:
        raise engine.UpstreamError(f"--report {folder} cannot be written: {error.strerror}") from error


def show(report: UpstreamReport, console: Console) -> None:
    """Print claimed, selected and passed side by side, then test by test, then what is to be said about it."""
    table = Table(*_COLUMNS, title=Text(f"Megatron Bridge {report.release}: its own verification of sequence packing"))
    for position, command in enumerate(report.commands, start=1):
        table.add_row(*map(Text, (str(position), *_counts(command))))
    console.print(table)
    console.print(Text(f"commands and claims: {report.source}"))
    console.print(Text(f"expected: {report.expectation}"))
    for position, command in enumerate(report.commands, start=1):
        console.print(Text(f"\n{position}  {command.command}"))
        for test in command.tests:
            console.print(Text(f"   {test.outcome:8} {test.name}{f'  {test.message}' if test.message else ''}"))
    console.print()
    for line in (*report.notes, *report.findings):
        console.print(Text(line))
    if report.count("not run"):
        console.print(Text(f"{report.count('not run')} selected but not run"))
    console.print(Text(report.last_line))


def _counts(command: CommandResult) -> tuple[str, ...]:
    claimed = "-" if command.claimed is None else str(command.claimed)
    expected = "all" if command.expected is None else str(command.expected)
    if command.refused:
        return claimed, expected, "refused", "-", "-", "-"
    counts = (command.selected, command.passed, command.count("failed"), command.count("skipped"))
    return (claimed, expected, *map(str, counts))


def markdown(report: UpstreamReport) -> str:
    """The report as GitHub shows it."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: UpstreamReport) -> Iterator[str]:
    yield f"# Megatron Bridge {_escaped(report.release)}: its own verification of sequence packing\n"
    yield f"Checkout: {_escaped(report.checkout)}  "
    yield f"Commands and claims: {_escaped(report.source)}  "
    yield f"Expected: {_escaped(report.expectation)}\n"
    yield from _table(_COLUMNS, [(str(n), *_counts(command)) for n, command in enumerate(report.commands, start=1)])
    yield f"\n**{report.last_line}** (exit code {report.verdict.value}, {report.verdict.name})\n"
    for line in (*report.findings, *report.notes):
        yield f"* {_escaped(line)}"
    for position, command in enumerate(report.commands, start=1):
        yield f"\n## Command {position}\n\n{_escaped(command.command)}\n"
        rows = [("yes", test.outcome, test.name, test.message) for test in command.tests]
        yield from _table(("selected", "outcome", "test", "message"), rows)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head)):
        yield f"| {' | '.join(row)} |"
    for row in rows:
        yield f"| {' | '.join(map(_escaped, row))} |"


def _escaped(text: str) -> str:
    """Text from a checkout that must not become markup, a table cell or a mention."""
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", html.escape(text, quote=False)).replace("@", "&#64;")


def _write(path: Path, content: bytes) -> None:
    """Write a file that others see whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
