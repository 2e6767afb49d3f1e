"""`packproof matrix` from outside, on small targets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import events
from conformance.events import Status
from conformance.exit_codes import ExitCode

HERE = Path(__file__).parent
TARGETS = ("reference", "museum:MB-10", "module:fakes:KillsTheProcess")


def packproof(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", "from conformance.cli import main; main()", *arguments],
        cwd=HERE, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One matrix of a sound, a wrong and a dying target."""
    folder = tmp_path_factory.mktemp("matrix")
    return folder, packproof("matrix", *TARGETS, "--law", "BIN-009", "--jobs", "2", "--report", str(folder))


def test_every_target_has_its_own_log_and_a_section_of_the_whole(
    report: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """In the order given, whatever happened to a neighbour; the worst decides the exit code."""
    folder, result = report
    assert result.returncode == ExitCode.TARGET, result.stdout + result.stderr
    sections = events.read(folder / "events.jsonl")
    assert [section.header.target for section in sections] == list(TARGETS)
    for name, section in zip(("reference", "museum-MB-10", "module-fakes-KillsTheProcess"), sections, strict=True):
        assert events.read(folder / f"{name}.events.jsonl") == [section]
    assert {verdict.verdict for verdict in sections[0].verdicts} == {Status.PASSED}


def test_cases_of_one_law_on_two_targets_are_two_files(
    report: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """Each verdict names a case of its own, which is there."""
    folder, _ = report
    named = [
        verdict.case
        for section in events.read(folder / "events.jsonl")
        for verdict in section.verdicts
        if verdict.case
    ]
    assert named
    assert len(named) == len(set(named))
    assert all((folder / case).is_file() for case in named)
    assert any(case.startswith("cases/museum-MB-10.") for case in named)


def test_the_reports_say_what_changed(report: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """On the terminal, as Markdown and as JSON; the last line counts all targets together."""
    folder, result = report
    document = json.loads((folder / "matrix.json").read_bytes())
    longer = ["BIN-009[longer than the capacity, best fit and histogram packers]", "BIN-009[longer than the capacity]"]
    assert document["changes"][0]["broken"] == longer
    assert document["laws"]["BIN-009[longer than the capacity]"]["museum:MB-10"] == "failed"
    assert "From reference to museum:MB-10" in (folder / "matrix.md").read_text()
    assert "new deviations (2):" in result.stdout
    assert result.stdout.strip().splitlines()[-1] == "6 passed, 6 failed, 0 skipped"


def test_a_target_named_twice_is_refused() -> None:
    """Its log would be written by two processes at once."""
    result = packproof("matrix", "reference", "reference")
    assert result.returncode == ExitCode.USAGE
    assert "named twice" in result.stderr


def test_a_target_that_cannot_be_loaded_ends_the_matrix_with_one_sentence() -> None:
    """Before anything is measured."""
    result = packproof("matrix", "reference", "museum:MB-999", "--law", "BIN-009")
    assert result.returncode == ExitCode.TARGET
    assert result.stderr.strip().count("\n") == 0
    assert "MB-999" in result.stderr
