"""A Markdown summary for CI step summaries, and a badge."""

from __future__ import annotations

import json
import re
from pathlib import Path

from conformance.cases import write_atomically
from conformance.events import Section, Status, Verdict
from conformance.exit_codes import ExitCode
from conformance.reports.columns import release
from conformance.reports.findings import cut
from conformance.results import LOUD, counts, suites, troubles

MOST = 200
"""Characters of a message in a table."""


def write(sections: list[Section], path: Path) -> None:
    """Write the summary."""
    write_atomically(path, "\n".join(line for section in sections for line in _section(section)).encode())


def write_badge(sections: list[Section], path: Path) -> None:
    """Write a badge in the schema that shields.io endpoints use; it is green where every exit code is 0."""
    green = all(section.footer and section.footer.exit_code is ExitCode.OK for section in sections)
    badge = {
        "schemaVersion": 1,
        "label": "packproof",
        "message": "truncated" if any(section.truncated for section in sections) else counts(sections)[1],
        "color": "brightgreen" if green else "red",
    }
    write_atomically(path, json.dumps(badge).encode())


def _section(section: Section) -> list[str]:
    header = section.header
    lines = [f"## packproof: {text(release(header))}", ""]
    lines += [f"{text(header.imported)} import, profile {text(header.profile)}, seed {header.seed}", ""]
    for trouble in troubles(section):
        lines += [f"**{text(trouble.message)}**", ""]
    lines += _suites(section)
    lines += _table("Failures", [verdict for verdict in section.verdicts if verdict.verdict in LOUD])
    known = [verdict for verdict in section.verdicts if verdict.verdict is Status.FAILED_AS_EXPECTED]
    if known:
        table = _table("Failed as expected", known)
        lines += [f"<details><summary>{len(known)} failed as expected</summary>", "", *table, "</details>", ""]
    return [*lines, *counts([section]), ""]


def _suites(section: Section) -> list[str]:
    results = suites(section)
    if not results:
        return []
    rows = [f"| {text(result.title)} | {result.passed} | {result.expected} |" for result in results]
    failing = [
        f"* {text(test.test)}: {test.verdict}, {_first_line(test.message)}"
        for result in results
        for test in result.failing
    ]
    return ["| pass target | passed | expected |", "|---|---|---|", *rows, "", *failing, *([""] if failing else [])]


def _table(title: str, verdicts: list[Verdict]) -> list[str]:
    if not verdicts:
        return []
    rows = [
        f"| {text(verdict.law)} | {text(verdict.facet)} | {verdict.verdict} | {text(verdict.claim)} |"
        f" {_first_line(verdict.message)} |"
        for verdict in verdicts
    ]
    return [f"### {title}", "", "| law | facet | verdict | claim | message |", "|---|---|---|---|---|", *rows, ""]


def _first_line(message: str) -> str:
    """Of a message, short enough for a table: a step summary may hold 1 MiB."""
    return text(cut(message.partition("\n")[0], MOST))


def text(plain: str) -> str:
    """Text as text: neither Markdown nor HTML, on one line."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~])", r"\\\1", " ".join(plain.split()))
