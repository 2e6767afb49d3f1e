"""`packproof list`: laws, targets and bugs as text or JSON."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.targets.declared import POLICIES
from conformance.targets.loading import KNOWN
from properties.law import catalogue, show_policy
from properties.museum import museum
from reference_impl.policies import Policies


class Catalogue(StrEnum):
    """What can be listed."""

    LAWS = "laws"
    TARGETS = "targets"
    BUGS = "bugs"


def print_catalogue(what: Catalogue, output: str) -> None:
    """Print a catalogue; JSON goes to stdout as one array."""
    rows = {Catalogue.LAWS: laws, Catalogue.TARGETS: targets, Catalogue.BUGS: bugs}[what]()
    console = Console()
    if output == "json":
        console.file.write(json.dumps(rows, indent=1) + "\n")
        return
    shown = {
        Catalogue.LAWS: ("id", "facet", "claim"),
        Catalogue.TARGETS: ("target", "what"),
        Catalogue.BUGS: ("id", "area", "suffered", "source"),
    }[what]
    table = Table(*shown)
    for row in rows:
        table.add_row(*(Text(str(row[name])) for name in shown))
    console.print(table)
    if what is Catalogue.TARGETS:
        console.print(_policies())
    console.print(f"{len(rows)} {what}")


def _policies() -> Table:
    """What each target declares where it is free to choose."""
    table = Table("target", *Policies().to_text(), title="declared policies", title_justify="left")
    for target, declared in POLICIES.items():
        table.add_row(target, *declared.to_text().values())
    return table


def laws() -> list[dict[str, Any]]:
    """Every law with what it claims and where that comes from."""
    return [
        {
            "id": law.id,
            "facet": law.facet,
            "claim": law.claim,
            "text": law.text,
            "harm": law.harm,
            "needs": sorted(law.needs),
            "sources": list(law.sources),
            "policy": None if law.policy is None else show_policy(law.policy),
        }
        for law in catalogue().values()
    ]


def targets() -> list[dict[str, Any]]:
    """Every form of target specification, with the declared policies of those that begin with it."""
    return [
        {
            "target": name,
            "what": what,
            "policies": {key: found.to_text() for key, found in POLICIES.items() if key.partition(" ")[0] == name},
        }
        for name, what in KNOWN.items()
    ]


def bugs() -> list[dict[str, Any]]:
    """Every re-created bug."""
    return [
        {
            "id": bug.id,
            "area": bug.area,
            "suffered": bug.suffered,
            "source": bug.source,
            "text": bug.text,
            "overrides": sorted(bug.overrides),
        }
        for bug in museum().values()
    ]
