"""`packproof museum --siblings`: the score, the survivors and the exit code."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance import sibling_run
from conformance.cases import write_atomically
from conformance.exit_codes import ExitCode
from conformance.many import Workers
from conformance.sibling_run import Score
from properties.siblings.allowed import reason_for

LEAST_SCORE = 0.95
"""Part of the siblings that the laws must catch."""


def measure(workers: Workers, seed: int, report: Path | None) -> Score:
    """Run all siblings, and write siblings.json where a report is asked for."""
    found = sibling_run.run(workers, seed)
    if report:
        content = msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
        write_atomically(report / "siblings.json", content)
    return found


def show(console: Console, found: Score) -> ExitCode:
    """Print what came out; every survivor needs a reason, and enough must be caught."""
    unexplained = [id for id in found.survivors if not reason_for(id)]
    if found.survivors:
        table = Table("survivor", "why it is allowed")
        for id in found.survivors:
            table.add_row(
                Text(id), Text(reason_for(id) or "nothing says so", style="" if reason_for(id) else "bold red")
            )
        console.print(table)
    if found.alone:
        console.print(Text(f"bugs without a sibling: {', '.join(found.alone)}", style="yellow"), soft_wrap=True)
    console.print(
        f"{found.score:.1%} of {found.killed + found.survived} siblings are caught;"
        f" {found.identical} more do nothing that a law could see"
    )
    console.print(f"{found.killed} passed, {len(unexplained)} failed, 0 skipped")
    return ExitCode.DEVIATION if unexplained or found.score < LEAST_SCORE else ExitCode.OK
