"""`packproof museum` tells who catches what, names what survives, and exits accordingly."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from conformance import kill_matrix
from conformance.cli import app
from conformance.exit_codes import ExitCode
from conformance.figures import figures
from conformance.kill_matrix import Kill, Matrix
from conformance.redundancy import redundancy
from conformance.smallest import MOST_EXAMPLES, Smallest
from properties.law import catalogue
from properties.museum import museum
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation

LAYOUT_LAWS = ("LAY-001", "LAY-005")


@pytest.fixture
def laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two laws are enough for what the command does with them."""
    few = {key: catalogue()[key] for key in LAYOUT_LAWS}
    monkeypatch.setattr(kill_matrix, "catalogue", lambda: few)


@pytest.fixture
def harmless(monkeypatch: pytest.MonkeyPatch) -> str:
    """A bug that is none, so that no law can catch it."""

    class Harmless(ReferenceImplementation):
        """Nothing is wrong, <b>really</b>."""

        def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
            return super().pad_layout(lengths, multiple)

    registry = importlib.import_module("properties.museum.bug")
    museum()
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    registry.bug("T-HARMLESS", area="test", suffered="nobody", source="this test")(Harmless)
    return "T-HARMLESS"


def packproof(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["museum", "--jobs", "1", *arguments], env={"COLUMNS": "200"})


@pytest.mark.usefixtures("laws")
def test_a_caught_bug_is_shown_with_its_laws_and_its_smallest_case(tmp_path: Path) -> None:
    result = packproof("--bug", "X-LAY-1", "--report", str(tmp_path))
    assert result.exit_code == ExitCode.OK, result.output
    assert "1 passed, 0 failed, 0 skipped" in result.output
    (row,) = json.loads((tmp_path / "museum.json").read_text())["bugs"]
    assert {killer["law"] for killer in row["killers"]} <= set(LAYOUT_LAWS)
    assert row["smallest"]["examples"] >= 1
    assert row["smallest"]["case"]["inputs"]
    assert row["smallest"]["message"] in (tmp_path / "museum.html").read_text().replace("&#39;", "'")


@pytest.mark.usefixtures("laws")
def test_a_bug_that_no_law_catches_is_named_and_fails_the_run(harmless: str, tmp_path: Path) -> None:
    result = packproof("--bug", harmless, "--bug", "X-LAY-1", "--report", str(tmp_path))
    assert result.exit_code == ExitCode.DEVIATION, result.output
    assert f"no law catches {harmless}" in result.output
    assert "1 passed, 1 failed, 0 skipped" in result.output
    assert json.loads((tmp_path / "museum.json").read_text())["survivors"] == [harmless]
    assert "&lt;b&gt;really&lt;/b&gt;" in (tmp_path / "museum.html").read_text()


def test_an_unknown_bug_is_a_usage_error() -> None:
    result = packproof("--bug", "MB-999")
    assert result.exit_code == ExitCode.USAGE
    assert "no bug MB-999" in result.output


def test_a_law_catches_a_bug_in_an_operation_that_it_comes_to_through_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = "PCK-001[aligned document]"
    assert not catalogue()[key].needs & museum()["MB-08"].overrides
    monkeypatch.setattr(kill_matrix, "catalogue", lambda: {key: catalogue()[key]})
    result = packproof("--bug", "MB-08")
    assert result.exit_code == ExitCode.OK, result.output


@pytest.mark.parametrize(("guards", "expected"), [("", ExitCode.DEVIATION), ("a promise to users", ExitCode.OK)])
def test_a_law_that_catches_nothing_must_say_what_it_guards(
    guards: str, expected: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance import cli_museum, museum_report

    idle = replace(catalogue()["BIN-001"], guards=guards)
    few = {"LAY-005": catalogue()["LAY-005"], "BIN-001": idle}
    for module in (kill_matrix, museum_report):
        monkeypatch.setattr(module, "catalogue", lambda: few)
    monkeypatch.setattr(cli_museum, "all_bugs", lambda: {"X-LAY-1": museum()["X-LAY-1"]})
    result = packproof()
    assert result.exit_code == expected, result.output
    assert "BIN-001" in result.output
    redundancy_table = result.output.partition("these survive")[2]
    assert "LAY-005" in redundancy_table
    assert "X-LAY-1" in redundancy_table


def kills(*pairs: tuple[str, str]) -> Matrix:
    found = tuple(Kill(bug, law, tried=8, failed=3, first=1) for law, bug in pairs)
    return Matrix(tuple(sorted({kill.bug for kill in found})), 0, found)


def test_removing_a_law_names_the_bugs_that_only_it_catches() -> None:
    found = redundancy(kills(("A-1", "X"), ("A-1", "Y"), ("A-2", "Y"), ("A-3", "Y")))
    assert found.survivors == {"A-1": ("X",)}
    assert found.never_alone == ("A-2", "A-3")
    assert found.alike == (("A-2", "A-3"),)


def searches(*examples: int | None) -> Sequence[Smallest]:
    return [
        Smallest(f"X-{number}", "A-1", 1, count, seconds=number, cpu_seconds=0.5)
        for number, count in enumerate(examples)
    ]


def test_figures_are_over_all_searches() -> None:
    found = figures(searches(1, 3, 40))
    assert found is not None
    assert (found.median_examples, found.maximum_examples, found.slowest) == (3, 40, "X-2")
    assert found.median_seconds == 1
    assert found.missed == ()


def test_a_bug_that_was_not_found_counts_as_more_than_the_most_examples() -> None:
    found = figures(searches(1, None, 2))
    assert found is not None
    assert found.maximum_examples == MOST_EXAMPLES + 1
    assert found.missed == ("X-1 at seed 1",)


def test_there_are_no_figures_of_no_search() -> None:
    assert figures([]) is None
