"""`packproof check-config`: options, table and exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from conformance.check_config import report
from conformance.exit_codes import ExitCode
from reference_impl.rules import BrokenRule, Severity


def check_config(
    file: Annotated[Path, typer.Argument(help="A training config, YAML or JSON, with Bridge's names.")],
    release: Annotated[str | None, typer.Option(metavar="VERSION", help="Bridge release of the run.")] = None,
    output: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> None:
    """Name every packing rule that a training config breaks."""
    if output not in {"text", "json"}:
        raise typer.BadParameter("choose text or json", param_hint="--format")
    broken = report(file, release)
    console = Console()
    if output == "json":
        console.file.write(json.dumps([_plain(item) for item in broken], indent=1) + "\n")
    else:
        _print(console, broken)
    errors = any(item.rule.severity is Severity.ERROR for item in broken)
    raise typer.Exit(ExitCode.DEVIATION if errors else ExitCode.OK)


def _print(console: Console, broken: list[BrokenRule]) -> None:
    for item in broken:
        style = "bold red" if item.rule.severity is Severity.ERROR else "yellow"
        console.print(Text.assemble((str(item.rule.severity), style), f"  {item.rule.id}"))
        body = f"{item.message}\nOtherwise {item.rule.harm}. Source: {item.rule.source}"
        console.print(Padding(Text(body), (0, 0, 1, 4)))
    errors = sum(item.rule.severity is Severity.ERROR for item in broken)
    console.print(f"{errors} errors, {len(broken) - errors} warnings")


def _plain(item: BrokenRule) -> dict[str, str]:
    return {
        "rule": item.rule.id,
        "severity": str(item.rule.severity),
        "message": item.message,
        "harm": item.rule.harm,
        "source": item.rule.source,
    }
