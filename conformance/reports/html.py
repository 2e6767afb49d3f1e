"""`index.html`: one self-contained page for one or several runs, made from event logs and the cases beside them.

The page loads nothing and may run nothing but its own script: a content security policy names that script and the
style sheet by their hashes. What a target said reaches the page as text, in one JSON block that the script reads.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from conformance import svg
from conformance.cases import write_atomically
from conformance.events import Status
from conformance.law_changes import Behaviour, Change, behaviour, changed
from conformance.reports import findings
from conformance.reports.columns import Column, Log, columns
from conformance.reports.facts import facts
from conformance.reports.findings import Detail, Group, Plain
from conformance.reports.links import links
from properties.law import catalogue
from properties.museum import museum

HERE = Path(__file__).parent
MOST_BYTES = 1_000_000
"""Size that a page stays under: what opens at once, and what CI systems keep as an artifact."""
Found = Mapping[str, Sequence[Group]]
"""Findings by key of the law."""
DETAILS = (
    Detail(1500, 20_000, True),
    Detail(600, 6_000, True),
    Detail(250, 3_000, False),
    Detail(80, 0, False),
    Detail(30, 0, False),
)
"""Tried in turn until the page is small enough."""


def write(logs: Sequence[Log], path: Path, *, diff: bool = False) -> None:
    """Write the page, whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    write_atomically(path, render(logs, diff=diff).encode("utf-8", "replace"))


def render(logs: Sequence[Log], *, diff: bool = False) -> str:
    """The page of some logs.

    Args:
        logs: one per column, neighbours side by side.
        diff: the logs are pairs, and the page opens with what changed in each.
    """
    shown = columns(logs)
    keys = sorted({key for column in shown for key in column.verdicts})
    found = {key: findings.findings(shown, key) for key in keys}
    page = ""
    for detail in DETAILS:
        page = _render(shown, found, detail, diff=diff)
        if len(page.encode("utf-8", "replace")) < MOST_BYTES:
            break
    return page


class _Drawings:
    """Drawings of a page, each different one once."""

    def __init__(self, detail: Detail) -> None:
        self.detail = detail
        self.numbers: dict[str, int] = {}

    def add(self, group: Group) -> tuple[list[int], list[str]]:
        """Numbers of a group's drawings, and what is to be said below them."""
        numbers: list[int] = []
        notes = [group.problem]
        for name, drawn, note in group.drawings:
            if len(drawn) > self.detail.picture:
                notes.append(f"{name} is too large for this page: `packproof show` draws the case")
                continue
            notes.append(f"{name}: {note}" if note else "")
            if drawn:
                numbers.append(self.numbers.setdefault(drawn, len(self.numbers)))
        return numbers, notes


def _render(shown: Sequence[Column], found: Found, detail: Detail, *, diff: bool) -> str:
    drawings = _Drawings(detail)
    numbers = range(len(shown))
    neighbours = list(itertools.batched(numbers, 2) if diff else itertools.pairwise(numbers))
    measured = facts(shown, neighbours, detail.text)
    data = _data(shown, found, detail, drawings, diff=diff) | {"neighbours": [f"{a}-{b}" for a, b in neighbours]}
    changes = [
        Counter(law["changes"].get(f"{before}-{after}") for law in data["laws"]) for before, after in neighbours
    ]
    style, script = _style(), (HERE / "page.js").read_text(encoding="utf-8")
    return _template().render(
        columns=shown,
        Status=Status,
        Change=Change,
        neighbours=[
            (
                shown[before],
                shown[after],
                [(kind, counts[kind]) for kind in Change if counts[kind]],
                [(part.title, part.between(after)) for part in measured if part.between(after)],
            )
            for (before, after), counts in zip(neighbours, changes, strict=True)
        ],
        facts=measured,
        areas=sorted({law["area"] for law in data["laws"]}),
        found=Counter(verdict.verdict for column in shown for verdict in column.verdicts.values()),
        diff=diff,
        drawings=[Markup(drawing) for drawing in drawings.numbers],  # noqa: S704 - svg.py escapes every text
        definitions=Markup(svg.definitions()),  # noqa: S704 - constant
        data=Markup(_script_json(data)),  # noqa: S704 - holds no markup, see there
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


@cache
def _template() -> Template:
    loader = FileSystemLoader(HERE)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.jinja")


def _style() -> str:
    return svg.style() + (HERE / "page.css").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a content security policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _script_json(data: Mapping[str, object]) -> str:
    """JSON that no text can break out of: it holds neither tags, nor comments, nor entities."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _data(shown: Sequence[Column], found: Found, detail: Detail, drawings: _Drawings, *, diff: bool) -> Plain:
    changes = {  # between any two columns, the earlier one first
        f"{before}-{after}": changed(shown[before].section, shown[after].section)
        for before, after in itertools.combinations(range(len(shown)), 2)
    }
    laws = [_law(shown, key, groups, changes, detail, drawings) for key, groups in found.items()]
    named = {source for law in laws for source in law["sources"]} | {
        id for law in laws for finding in law["findings"] for id in finding.get("known", ())
    }
    return {
        "columns": [
            {
                "handle": column.handle,
                "names": column.names,
                "runs": [{"name": run.name, "replay": findings.replay(run)} for run in column.log.runs],
            }
            for column in shown
        ],
        "verdicts": [str(status) for status in Status],
        "changes": [str(kind) for kind in Change],
        "query": "changed" if diff else "",
        "laws": laws,
        "bugs": {
            bug.id: {"suffered": bug.suffered, "source": bug.source, "links": links(bug.source)}
            for bug in museum().values()
            if bug.id in named
        },
    }


def _law(
    shown: Sequence[Column],
    key: str,
    groups: Sequence[Group],
    changes: Mapping[str, Mapping[str, Change]],
    detail: Detail,
    drawings: _Drawings,
) -> Plain:
    verdicts = [column.verdicts.get(key) for column in shown]
    sample = next(verdict for verdict in verdicts if verdict is not None)
    law = catalogue().get(key)  # a log of another packproof release may name laws that this one does not know
    return {
        "key": key,
        "area": sample.law.partition("-")[0],
        "claim": sample.claim,
        "harm": sample.harm or (law.harm if law else ""),
        "text": law.text if law else "",
        "needs": sorted(law.needs) if law else [],
        "sources": list(law.sources) if law else [],
        "links": links("; ".join(law.sources)) if law else [],
        "verdicts": [verdict.verdict if verdict else None for verdict in verdicts],
        "measured": [_measured(column, key) for column in shown],
        "broken": [
            number
            for number, verdict in enumerate(verdicts)
            if verdict is not None and behaviour(verdict) is Behaviour.FAILS
        ],
        "changes": {pair: kinds[key] for pair, kinds in changes.items() if key in kinds},
        "findings": [findings.plain(group, detail, *drawings.add(group)) for group in groups],
    }


def _measured(column: Column, key: str) -> tuple[int, float, int] | None:
    """Examples, seconds and the number of the run that a verdict comes from."""
    verdict = column.verdicts.get(key)
    return (verdict.examples, round(verdict.seconds, 1), column.log.origin(key)) if verdict else None
