"""The museum's page."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from jinja2 import Environment

from conformance.cases import write_atomically
from conformance.museum_report import Report


def write(found: Report, path: Path) -> None:
    """Write the page: one file, everything escaped, nothing fetched."""
    template = files(__package__).joinpath("museum.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(template).render(found=found, caught=len(found.bugs) - len(found.survivors))
    write_atomically(path, page.encode())
