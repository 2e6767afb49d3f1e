"""`packproof lint-command`: whether a program can be measured as ``command:PROGRAM``."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance import protocol
from conformance.exit_codes import ExitCode
from conformance.manners import any_missing, manners


def lint_command(
    program: Annotated[str, typer.Argument(help="The program with its arguments, as one word.")] = "",
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the protocol instead.")] = False,
) -> None:
    """Test the manners of a program that speaks packproof's protocol."""
    console = Console()
    if schema:
        console.file.write(msgspec.json.format(msgspec.json.encode(protocol.json_schema()), indent=1).decode() + "\n")
        return
    if not program.strip():
        Console(stderr=True).print("packproof: name a program, or ask for --schema")
        raise typer.Exit(ExitCode.USAGE)
    found = manners(program)
    table = Table("", "manner", "instead")
    for manner in found:
        table.add_row(Text("no" if manner.trouble else "yes"), Text(manner.claim), Text(manner.trouble))
    console.print(table)
    bad = sum(bool(manner.trouble) for manner in found)
    console.print(f"{len(found) - bad} passed, {bad} failed, 0 skipped")
    raise typer.Exit(ExitCode.DEVIATION if any_missing(found) else ExitCode.OK)
