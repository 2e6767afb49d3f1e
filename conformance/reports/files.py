"""Every file that a report folder holds beside the event log and the cases."""

from __future__ import annotations

from pathlib import Path

from conformance.events import Section
from conformance.reports import ctrf, html, junit, markdown
from conformance.reports.columns import Log


def write(sections: list[Section], folder: Path) -> None:
    """Write ``junit.xml``, ``ctrf.json``, ``summary.md``, ``badge.json`` and ``index.html``.

    Args:
        sections: one per target, in the order of the columns.
        folder: of the event log; cases are read from it.

    Raises:
        OSError: a file cannot be written.
    """
    junit.write(sections, folder / "junit.xml")
    ctrf.write(sections, folder / "ctrf.json")
    markdown.write(sections, folder / "summary.md")
    markdown.write_badge(sections, folder / "badge.json")
    html.write([Log(section, folder) for section in sections], folder / "index.html")
