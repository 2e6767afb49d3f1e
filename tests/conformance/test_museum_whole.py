"""The whole museum: every bug is caught, soon; every law catches one; siblings are caught too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conformance.cli import app
from conformance.cli_siblings import LEAST_SCORE
from conformance.exit_codes import ExitCode
from conformance.smallest import MOST_EXAMPLES
from properties.museum import museum

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("museum")
    result = CliRunner().invoke(app, ["museum", "--seeds", "5", "--report", str(folder)])
    assert result.exit_code == ExitCode.OK, result.output
    return json.loads((folder / "museum.json").read_text())


def test_every_bug_is_caught_and_has_a_smallest_case(found: dict[str, Any]) -> None:
    assert [row["id"] for row in found["bugs"]] == list(museum())
    assert all(row["killers"] and row["smallest"]["case"] for row in found["bugs"])


def test_bugs_are_found_soon_whatever_the_seed(found: dict[str, Any]) -> None:
    figures = found["figures"]
    assert len(figures["seeds"]) == 5
    assert figures["missed"] == []
    assert figures["median_examples"] <= 20
    assert figures["maximum_examples"] <= MOST_EXAMPLES


def test_every_bug_that_one_law_alone_catches_is_named_with_it(found: dict[str, Any]) -> None:
    """The redundancy report: what survives when a law is removed."""
    alone = {row["id"] for row in found["bugs"] if len(row["killers"]) == 1}
    assert {bug for bugs in found["redundancy"]["survivors"].values() for bug in bugs} == alone


def test_every_kind_of_input_is_drawn(found: dict[str, Any]) -> None:
    assert [kind for kind, number in found["inputs"].items() if not number] == []


@pytest.mark.nightly
def test_enough_siblings_are_caught_and_every_survivor_has_a_reason(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["museum", "--siblings", "--report", str(tmp_path)])
    assert result.exit_code == ExitCode.OK, result.output
    score = json.loads((tmp_path / "siblings.json").read_text())
    assert score["score"] >= LEAST_SCORE
    assert score["alone"] == []
