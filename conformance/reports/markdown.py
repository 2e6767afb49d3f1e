"""A Markdown summary for CI step summaries, and a badge."""

from __future__ import annotations

import json
import re
from pathlib import Path

from conformance.cases import write_atomically
from conformance.events import Section, Status, Verdict
from conformance.results import LOUD, counts, suites


def write(sections: list[Section], path: Path) -> None:
    """Write the summary."""
    write_atomically(path, "\n".join(line for section in sections for line in _section(section)).encode())


def write_badge(sections: list[Section], path: Path) -> None:
    """Write a badge in the schema that shields.io endpoints use."""
    red = any(verdict.verdict in LOUD for section in sections for verdict in section.verdicts)
    truncated = any(section.truncated for section in sections)
    badge = {
        "schemaVersion": 1,
        "label": "packproof",
        "message": "truncated" if truncated else counts(sections)[1],
        "color": "red" if red or truncated else "brightgreen",
    }
    write_atomically(path, json.dumps(badge).encode())


def _section(section: Section) -> list[str]:
    header = section.header
    lines = [f"## packproof: {text(header.target)} {text(header.target_version)}", ""]
    lines += [f"{text(header.imported)} import, profile {header.profile}, seed {header.seed}", ""]
    if section.truncated:
        lines += ["**The run is truncated: not every law has a verdict.**", ""]
    results = suites(section)
    if results:
        lines += ["| pass target | passed | expected |", "|---|---|---|"]
        lines += [f"| {text(result.title)} | {result.passed} | {result.expected} |" for result in results]
        lines.append("")
    lines += _table("Failures", [verdict for verdict in section.verdicts if verdict.verdict in LOUD])
    known = [verdict for verdict in section.verdicts if verdict.verdict is Status.FAILED_AS_EXPECTED]
    if known:
        table = _table("Failed as expected", known)
        lines += [f"<details><summary>{len(known)} failed as expected</summary>", "", *table, "</details>", ""]
    return [*lines, *counts([section]), ""]


def _table(title: str, verdicts: list[Verdict]) -> list[str]:
    if not verdicts:
        return []
    rows = [
        f"| {text(verdict.law)} | {text(verdict.facet)} | {verdict.verdict} | {text(verdict.claim)} |"
        f" {text(verdict.message.partition(chr(10))[0])} |"
        for verdict in verdicts
    ]
    return [f"### {title}", "", "| law | facet | verdict | claim | message |", "|---|---|---|---|---|", *rows, ""]


def text(plain: str) -> str:
    """Text as text: neither Markdown nor HTML, on one line."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~])", r"\\\1", " ".join(plain.split()))
