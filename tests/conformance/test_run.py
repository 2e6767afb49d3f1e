"""`packproof run` and `replay` from outside: exit codes, sentences, and logs that survive whatever a target does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conformance import events
from conformance.events import Blame, Status
from conformance.exit_codes import ExitCode

HERE = Path(__file__).parent
BINS = "BIN-00[12]"
PASSING_CASE = {
    "law": "BIN-002",
    "inputs": {
        "lengths": {"dtype": "int64", "data": [3, 2]},
        "capacity": 4,
        "algorithm": "first_fit",
        "seed": 0,
    },
}


def packproof(*arguments: str, folder: Path = HERE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", "from conformance.cli import main; main()", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip


def measure(target: str, report: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], events.Section]:
    result = packproof("run", "--target", target, "--law", BINS, "--jobs", "1", "--report", str(report), *options)
    return result, events.read(report / "events.jsonl")[-1]


def last_line(result: subprocess.CompletedProcess[str]) -> str:
    return result.stdout.strip().splitlines()[-1]


def test_the_reference_passes_and_leaves_every_report(tmp_path: Path) -> None:
    result, section = measure("reference", tmp_path)
    assert result.returncode == ExitCode.OK, result.stdout + result.stderr
    count = len(section.verdicts)
    assert count >= 2
    assert last_line(result) == f"{count} passed, 0 failed, 0 skipped"
    assert not section.truncated
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().findall(".//testcase")
    assert "BIN" not in (tmp_path / "summary.md").read_text()  # nothing failed, so no law is named
    assert json.loads((tmp_path / "badge.json").read_text())["color"] == "brightgreen"


def test_whatever_a_target_raises_is_reported_as_text(tmp_path: Path) -> None:
    """Markup, HTML and control characters of a message reach every report as what they are: text."""
    result, section = measure("module:fakes:Raises", tmp_path)
    assert result.returncode == ExitCode.DEVIATION, result.stdout + result.stderr
    assert "[red]markup[/red]" in result.stdout
    assert {verdict.verdict for verdict in section.verdicts} == {Status.FAILED}
    assert all("ZeroDivisionError" in verdict.message for verdict in section.verdicts)
    assert "<script>" not in (tmp_path / "summary.md").read_text()
    failures = ElementTree.parse(tmp_path / "junit.xml").getroot().findall(".//failure")
    assert "<script>" in str(failures[0].get("message"))
    assert "packproof replay" in result.stdout


def test_what_a_target_prints_does_not_reach_the_log(tmp_path: Path) -> None:
    result, section = measure("module:fakes:Prints", tmp_path)
    assert result.returncode == ExitCode.OK, result.stdout + result.stderr
    assert "straight to the descriptor" not in result.stdout
    assert {verdict.verdict for verdict in section.verdicts} == {Status.PASSED}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ChangesItsInput", "leaves its arguments as they were"),
        ("Exits", "raised SystemExit"),
        ("IsRandom", "hold the given lengths"),
    ],
)
def test_a_misbehaving_target_is_a_deviation(name: str, words: str, tmp_path: Path) -> None:
    result, section = measure(f"module:fakes:{name}", tmp_path)
    assert result.returncode == ExitCode.DEVIATION, result.stdout + result.stderr
    assert any(words in verdict.message for verdict in section.verdicts)
    assert all(verdict.blame is Blame.TARGET for verdict in section.verdicts if verdict.verdict is Status.FAILED)


def test_a_hanging_target_is_ended_and_named(tmp_path: Path) -> None:
    result, section = measure("module:fakes:Hangs", tmp_path, "--time-limit", "2")
    assert result.returncode == ExitCode.TARGET, result.stdout + result.stderr
    hung = [verdict for verdict in section.verdicts if verdict.verdict is Status.ENVIRONMENT_ERROR]
    assert hung
    assert all("hangs" in verdict.message and verdict.blame is Blame.TARGET for verdict in hung)


def test_a_target_that_kills_its_process_leaves_a_log(tmp_path: Path) -> None:
    result, section = measure("module:fakes:KillsTheProcess", tmp_path)
    assert result.returncode == ExitCode.TARGET, result.stdout + result.stderr
    killed = [verdict for verdict in section.verdicts if verdict.verdict is Status.ENVIRONMENT_ERROR]
    assert killed
    assert "killed its process" in killed[0].message
    assert killed[0].blame is Blame.TARGET


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("module:nowhere:Nothing", "there is no module 'nowhere'"),
        ("module:fakes:Nowhere", "has no class 'Nowhere'"),
        ("module:fakes:CannotBeMade", "no licence"),
        ("megatron-brigde", "did you mean megatron-bridge?"),
        ("museum:MB-999", "no bug 'MB-999'"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_one_sentence(target: str, sentence: str) -> None:
    result = packproof("run", "--target", target, "--law", BINS)
    assert result.returncode == ExitCode.TARGET, result.stdout + result.stderr
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_law_that_does_not_exist_runs_nothing() -> None:
    result = packproof("run", "--target", "reference", "--law", "NOPE-*")
    assert result.returncode == ExitCode.NOTHING_RAN
    assert "no law matches NOPE-*" in result.stderr


def test_a_target_without_operations_runs_nothing(tmp_path: Path) -> None:
    result, section = measure("module:fakes:Nothing", tmp_path)
    assert result.returncode == ExitCode.NOTHING_RAN, result.stdout + result.stderr
    assert {verdict.verdict for verdict in section.verdicts} == {Status.NOT_SUPPORTED}


def write_baseline(folder: Path, text: str, case: dict[str, object] | None = None) -> str:
    (folder / "case.json").write_text(json.dumps(case or PASSING_CASE))
    path = folder / "known.toml"
    path.write_text(text)
    return str(path)


def test_a_baseline_entry_that_passes_is_stale(tmp_path: Path) -> None:
    entry = '[[deviation]]\nlaw = "BIN-002"\ncase = "case.json"\nharm = "rows are too wide"\n'
    result, section = measure("reference", tmp_path, "--baseline", write_baseline(tmp_path, entry))
    assert result.returncode == ExitCode.STALE, result.stdout + result.stderr
    (stale,) = [verdict for verdict in section.verdicts if verdict.verdict is Status.STALE]
    assert stale.blame is Blame.BASELINE
    assert "remove the entry" in stale.message


def test_a_baseline_entry_for_an_unknown_law_is_reported(tmp_path: Path) -> None:
    entry = '[[deviation]]\nlaw = "BIN-0O2"\nharm = "misspelt"\n'
    result, section = measure("reference", tmp_path, "--baseline", write_baseline(tmp_path, entry))
    assert result.returncode == ExitCode.STALE, result.stdout + result.stderr
    assert section.footer is not None
    assert "BIN-0O2" in section.footer.problems[0]


def test_a_known_deviation_fails_as_expected_and_others_do_not_hide_behind_it(tmp_path: Path) -> None:
    entry = '[[deviation]]\nlaw = "BIN-001"\ncase = "case.json"\nharm = "it raises"\n'
    path = write_baseline(tmp_path, entry, {**PASSING_CASE, "law": "BIN-001"})
    result, section = measure("module:fakes:Raises", tmp_path, "--baseline", path)
    assert result.returncode == ExitCode.DEVIATION, result.stdout + result.stderr
    by_key = {(verdict.law, verdict.facet): verdict.verdict for verdict in section.verdicts}
    assert by_key["BIN-001", ""] is Status.FAILED_AS_EXPECTED
    assert by_key["BIN-002", ""] is Status.FAILED
    assert result.stdout.strip().splitlines()[-2].startswith("1 failed as expected")


@pytest.mark.parametrize("text", ["[[deviation", '[[deviation]]\nlaw = "BIN-001"\n', "[[deviation]]\ncolour = 1\n"])
def test_a_malformed_baseline_is_one_sentence(text: str, tmp_path: Path) -> None:
    result = packproof("run", "--target", "reference", "--law", BINS, "--baseline", write_baseline(tmp_path, text))
    assert result.returncode == ExitCode.USAGE
    assert "is malformed" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_baseline_is_one_sentence(tmp_path: Path) -> None:
    result = packproof("run", "--target", "reference", "--law", BINS, "--baseline", str(tmp_path / "none.toml"))
    assert result.returncode == ExitCode.USAGE
    assert "cannot be read" in result.stderr


def test_a_report_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = packproof("run", "--target", "reference", "--law", BINS, "--report", str(tmp_path / "file" / "report"))
    assert result.returncode == ExitCode.USAGE
    assert "cannot write to --report" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_case_can_be_replayed_on_its_target_and_on_the_reference(tmp_path: Path) -> None:
    measure("module:fakes:Raises", tmp_path)
    case = str(tmp_path / "cases" / "BIN-001.json")
    again = packproof("replay", case)
    assert again.returncode == ExitCode.DEVIATION, again.stdout + again.stderr
    assert again.stdout.startswith("STILL FAILS: BIN-001")
    fixed = packproof("replay", case, "--target", "reference")
    assert fixed.returncode == ExitCode.OK, fixed.stdout + fixed.stderr
    assert fixed.stdout.startswith("FIXED: BIN-001")


@pytest.mark.parametrize(
    "content", ["{", '{"law": "NOPE-001", "inputs": {}}', '{"law": "BIN-001", "inputs": {"a": 1}}']
)
def test_a_malformed_case_is_one_sentence(content: str, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(content)
    result = packproof("replay", str(path))
    assert result.returncode == ExitCode.USAGE
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_same_seed_finds_the_same_cases(tmp_path: Path) -> None:
    for name in ("one", "two"):
        measure("module:fakes:Raises", tmp_path / name, "--seed", "7")
    assert (tmp_path / "one/cases/BIN-001.json").read_text() == (tmp_path / "two/cases/BIN-001.json").read_text()


@pytest.mark.parametrize("profile", ["fast", ""])
def test_an_unknown_profile_is_one_sentence(profile: str) -> None:
    result = packproof("run", "--target", "reference", "--profile", profile)
    assert result.returncode == ExitCode.USAGE
    assert "choose one of" in result.stderr


@pytest.mark.parametrize("what", ["laws", "targets", "bugs"])
def test_catalogues_are_printed_as_json(what: str) -> None:
    result = packproof("list", what, "--format", "json")
    assert result.returncode == ExitCode.OK
    assert json.loads(result.stdout)
