"""What `packproof run` prints."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from conformance import cases
from conformance.draw import draw_inputs
from conformance.events import Header, Section, Status, Verdict
from conformance.results import LOUD, suites, troubles

STYLE = {
    Status.PASSED: "green",
    Status.FAILED: "bold red",
    Status.FAILED_AS_EXPECTED: "yellow",
    Status.STALE: "bold magenta",
    Status.NOT_SUPPORTED: "dim",
    Status.HARNESS_ERROR: "bold red",
    Status.ENVIRONMENT_ERROR: "bold red",
}


def print_section(console: Console, section: Section, folder: Path | None) -> None:
    """Print one target's results; ``folder`` is where its cases lie, None when they are not kept.

    Everything that comes from the target is printed as plain text, never as markup.
    """
    console.print(Panel(_header(section.header), title="packproof", expand=False))
    for verdict in section.verdicts:
        if verdict.verdict in LOUD:
            console.print(_failure(verdict, folder))
            if verdict.case and folder:
                replay = ["packproof", "replay", str(folder / verdict.case), "--target", section.header.target]
                console.print(Text(shlex.join(replay), style="cyan"), soft_wrap=True)
    known = [verdict for verdict in section.verdicts if verdict.verdict is Status.FAILED_AS_EXPECTED]
    if known:
        console.print(_known(known))
    console.print(_by_area(section))
    print_suites(console, section)
    for trouble in troubles(section):
        console.print(Text(trouble.message, style="bold red"))


def print_suites(console: Console, section: Section) -> None:
    """The pass targets beside their counts."""
    results = suites(section)
    if not results:
        return
    table = Table("pass target", "passed", "expected", "", title="pass targets", title_justify="left")
    for result in results:
        count = Text(str(result.passed), style="green" if result.met else "bold red")
        causes = Text("\n".join(f"{test.test}: {_first_line(test.message)}" for test in result.failing))
        table.add_row(Text(result.title), count, str(result.expected), causes)
    console.print(table)


def _header(header: Header) -> Table:
    table = Table.grid(padding=(0, 2))
    versions = ", ".join(f"{name} {version}" for name, version in header.versions.items())
    imported = header.imported
    if header.stand_ins:
        imported += f", with stand-ins for {', '.join(header.stand_ins)}"
    rows = {
        "target": f"{header.target} {header.target_version}",
        "versions": versions,
        "imported": imported,
        "baseline": Path(header.baseline).name if header.baseline else "none",
        "profile": f"{header.profile}, seed {header.seed}",
    }
    for name, value in rows.items():
        if value:
            table.add_row(Text(name, style="dim"), Text(value))
    return table


def _failure(verdict: Verdict, folder: Path | None) -> Panel:
    title = Text(f"{verdict.key}  {verdict.verdict}", style=STYLE[verdict.verdict])
    parts = [Text(verdict.claim, style="bold"), Text(f"harm: {verdict.harm}", style="dim"), Text(verdict.message)]
    picture = _picture(verdict, folder)
    if picture:
        parts.append(Text(f"\n{picture}"))
    return Panel(Group(*parts), title=title, title_align="left")


def _picture(verdict: Verdict, folder: Path | None) -> str:
    if not verdict.case or not folder:
        return ""
    try:
        case = cases.read(folder / verdict.case)
        return draw_inputs(cases.inputs_of(case, cases.law_of(case)))
    except cases.CaseError as error:
        return f"(no picture: {error})"


def _known(verdicts: list[Verdict]) -> Table:
    table = Table("law", "known deviation", title="failed as expected", title_justify="left")
    for verdict in verdicts:
        table.add_row(Text(verdict.key, style="yellow"), Text(_first_line(verdict.message)))
    return table


def _by_area(section: Section) -> Table:
    found = {status: Counter[str]() for status in Status}
    for verdict in section.verdicts:
        found[verdict.verdict][verdict.law.partition("-")[0]] += 1
    shown = [status for status in Status if found[status]]
    table = Table("area", *(Column(str(status), header_style=STYLE[status], justify="right") for status in shown))
    for area in sorted({verdict.law.partition("-")[0] for verdict in section.verdicts}):
        table.add_row(area, *(str(found[status][area] or "") for status in shown))
    table.add_section()
    table.add_row("all", *(str(found[status].total()) for status in shown))
    return table


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
