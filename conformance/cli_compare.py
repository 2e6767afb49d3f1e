"""`packproof compare`: options, tables and exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.cases import write_atomically
from conformance.changes import Difference, differences
from conformance.cli_shared import plain_bars, say
from conformance.comparing import Comparison, compare, operations, start
from conformance.exit_codes import ExitCode
from conformance.targets.command import Command
from reference_impl.interface import Op


def compare_(
    targets: Annotated[list[str], typer.Argument(help="Two or more targets; each is compared with the first.")],
    operation: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    examples: Annotated[int, typer.Option(min=1, help="Inputs of each operation.")] = 50,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write compare.json here.")] = None,
) -> None:
    """Put the same inputs to several targets: agreement, speed, memory, and declared policies."""
    if len(set(targets)) < 2:
        raise typer.Exit(say(ExitCode.USAGE, "compare takes two or more different targets"))
    known = {op.value for op in operations()}
    unknown = sorted(set(operation or ()) - known)
    if unknown:
        raise typer.Exit(say(ExitCode.USAGE, f"no operation {unknown[0]}; there are {', '.join(sorted(known))}"))
    served = {target: start(target) for target in targets}
    found: list[Comparison] = []
    with plain_bars(Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(operation or known))
        for name in operation or sorted(known):
            bar.update(task, description=name)
            found += compare(served, [Op(name)], examples)
            bar.advance(task)
    policies = _policies(served)
    console = Console()
    _print(console, found, policies)
    if report:
        write_atomically(report / "compare.json", msgspec.json.format(msgspec.json.encode([found, policies])))
    raise typer.Exit(ExitCode.OK if found else say(ExitCode.NOTHING_RAN, "the targets have no operation in common"))


def _policies(served: dict[str, Command]) -> dict[str, tuple[Difference, ...]]:
    """Policies that each target declares otherwise than the first."""
    first, *others = served
    before = served[first].hello.policies
    return {other: differences(before, served[other].hello.policies) for other in others}


def _print(console: Console, found: list[Comparison], policies: dict[str, tuple[Difference, ...]]) -> None:
    table = Table("operation", "target", "beside", "agreement", "CPU time", "memory")
    for row in found:
        agreement = ", ".join(f"{count} {level}" for level, count in row.levels.items())
        ratios = ("-" if ratio is None else f"{ratio:.2f} x" for ratio in (row.speed, row.memory))
        table.add_row(*map(Text, (row.operation, row.other, row.first, agreement, *ratios)))
    console.print(table)
    for target, changed in policies.items():
        for policy in changed:
            console.print(Text(f"{target} declares {policy.name}: {policy.after} (the first: {policy.before})"))
