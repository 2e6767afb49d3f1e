"""Every invariant of packing has a law, and the catalogue says which."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from conformance.cli import app
from properties.law import catalogue

CONTEXT_PARALLEL = [f"I{number}" for number in range(1, 25)]
"""I1 to I24: the THD layout and context parallelism."""

PACKING = [
    *("P-PERM", "P-CAP", "P-ALIGN", "P-MASK", "P-BOUND", "P-PADDED", "P-MAXSEQ", "P-POS", "P-CPPART", "P-SHIFT"),
    *("P-VALUE", "P-EQUIV", "P-DET", "P-SHAPE", "P-STAGE", "P-CFG", "P-ROUNDTRIP", "P-SCALE", "P-NAN", "P-TOTAL"),
]
"""Properties that the bug corpus names, but for statistics of runs (P-STAT), which no operation gives."""


@pytest.fixture(scope="module")
def laws_by_source() -> dict[str, list[str]]:
    """Laws by what they are drawn from, as `packproof list laws --format json` tells it."""
    listed = CliRunner().invoke(app, ["list", "laws", "--format", "json"])
    assert listed.exit_code == 0
    found: dict[str, list[str]] = {}
    for law in json.loads(listed.stdout):
        for source in law["sources"]:
            found.setdefault(source, []).append(law["id"])
    return found


@pytest.mark.parametrize("invariant", [*CONTEXT_PARALLEL, *PACKING])
def test_every_invariant_has_a_law(invariant: str, laws_by_source: dict[str, list[str]]) -> None:
    assert laws_by_source.get(invariant), f"no law says that it is drawn from {invariant}"


def test_laws_name_no_other_invariant() -> None:
    """A misspelt source would leave the table with a hole that looks like a law."""
    sources = {source for law in catalogue().values() for source in law.sources}
    numbered = {source for source in sources if source[0] == "I" and source[1:].isdigit()}
    assert numbered == set(CONTEXT_PARALLEL)
