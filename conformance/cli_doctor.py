"""`packproof doctor`: options and output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.doctor import Finding, examine
from conformance.machine import Machine, here


def doctor(output: Annotated[str, typer.Option("--format", help="text or json.")] = "text") -> None:
    """Say what this machine can measure, and what is missing for the rest."""
    if output not in {"text", "json"}:
        raise typer.BadParameter("choose text or json", param_hint="--format")
    machine = here()
    findings = examine(machine)
    console = Console()
    if output == "json":
        plain = {"machine": asdict(machine), "findings": [asdict(finding) for finding in findings]}
        console.file.write(json.dumps(plain, indent=1) + "\n")
        return
    _print_machine(console, machine)
    for kind in ("target", "suite"):
        console.print(_table(kind, [finding for finding in findings if finding.kind == kind]))
    runs = sum(not finding.missing for finding in findings)
    console.print(Text(f"{runs} of {len(findings)} run here"))


def _print_machine(console: Console, machine: Machine) -> None:
    devices = [f"{device.name}, {device.gib:.0f} GiB" for device in machine.devices]
    console.print(Text(f"CUDA devices: {'; '.join(devices) or 'none'}"))
    console.print(Text(f"ranks over gloo: {machine.ranks}"))
    found = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    console.print(Text(f"packages: {found or 'none'}"), soft_wrap=True)


def _table(kind: str, findings: Sequence[Finding]) -> Table:
    table = Table(kind, "runs here", "what it shows, or what is missing")
    for finding in findings:
        if finding.missing:
            table.add_row(
                Text(finding.name), Text("no", style="yellow"), Text(f"missing: {'; '.join(finding.missing)}")
            )
        else:
            table.add_row(Text(finding.name), Text("yes", style="green"), Text(finding.shows))
    return table
