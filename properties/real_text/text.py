"""Text that is on every machine which can run this: licences of packages, and docstrings of the standard library."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("hypothesis", "msgspec", "numpy", "pyarrow", "pytest", "rich", "torch", "typer")
MODULES = (
    *("argparse", "asyncio.tasks", "collections", "dataclasses", "difflib", "email.message", "enum", "fractions"),
    *("inspect", "json", "logging", "pathlib", "random", "statistics", "textwrap", "typing", "zipfile"),
)
PER_SOURCE = 5
"""Paragraphs taken of one package or module, so that none outweighs the others."""

SHORTEST, LONGEST = 8, 220
"""Words of a paragraph; the longest ones still fit a pack of 512 tokens with room for others."""

Record = dict[str, str]


@functools.cache
def records() -> tuple[Record, ...]:
    """Instruction-tuning records: the first third of a paragraph is the input, the rest the output."""
    texts = [*map(_licence, PACKAGES), *map(_docstrings, MODULES)]
    made: list[Record] = []
    for text in texts:
        for words in list(_paragraphs(text))[:PER_SOURCE]:
            third = len(words) // 3
            made.append({"input": " ".join(words[:third]), "output": " ".join(words[third:])})
    return tuple(made)


def _paragraphs(text: str) -> Iterator[list[str]]:
    for paragraph in re.split(r"\n\s*\n", text):
        words = paragraph.split()
        if SHORTEST <= len(words) <= LONGEST:
            yield words


def _licence(package: str) -> str:
    """Licence texts of an installed package, "" when it ships none."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    names = sorted(str(file) for file in files if ".dist-info" in str(file) and "LICEN" in file.name.upper())
    return "\n\n".join(
        Path(str(importlib.metadata.distribution(package).locate_file(name))).read_text() for name in names
    )


def _docstrings(module: str) -> str:
    """Docstrings of a module and of all that it defines."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return "\n\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))
