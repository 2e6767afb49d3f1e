"""`packproof init`: an adapter, a test and a CI workflow to start from."""

from __future__ import annotations

import textwrap
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from conformance.cases import write_atomically
from conformance.exit_codes import ExitCode
from reference_impl.interface import Op

SKELETONS = Path(__file__).with_name("skeletons")
FILES = ("packproof_adapter.py", "test_packing.py", ".github/workflows/packing.yml")
"""Paths in the user's folder; each is made of the skeleton of the same name."""


def init() -> None:
    """Write an adapter skeleton, a test and a CI workflow into the current folder; nothing is overwritten."""
    taken = [name for name in FILES if Path(name).exists() or Path(name).is_symlink()]
    if taken:
        sentence = f"{', '.join(taken)} exists already, and nothing was written: move it away, or call init elsewhere"
        Console(stderr=True).print(Text(f"packproof: {sentence}"), soft_wrap=True)
        raise typer.Exit(ExitCode.USAGE)
    console = Console()
    for name in FILES:
        try:
            write_atomically(Path(name), _content(Path(name).name).encode())
        except OSError as error:
            Console(stderr=True).print(Text(f"packproof: {name} cannot be written: {error.strerror}"), soft_wrap=True)
            raise typer.Exit(ExitCode.USAGE) from error
        console.print(Text(f"wrote {name}"))
    console.print(Text("next: let MyPacker call your code, then run `pytest test_packing.py`"))


def _content(name: str) -> str:
    text = (SKELETONS / f"{name}.txt").read_text(encoding="utf-8")
    if not name.startswith("packproof_adapter"):
        return text
    operations = textwrap.fill(", ".join(Op), 115, initial_indent="    ", subsequent_indent="    ")
    return text.replace("    OPERATIONS", operations)
