"""`packproof run` and `replay` from outside: exit codes, sentences, and logs that survive whatever a target does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conformance import events
from conformance.events import Blame, Status
from conformance.exit_codes import ExitCode

HERE = Path(__file__).parent
BINS = "BIN-00[12]"
MISBEHAVING = {
    "Raises": ExitCode.DEVIATION,
    "Prints": ExitCode.OK,
    "ChangesItsInput": ExitCode.DEVIATION,
    "Exits": ExitCode.DEVIATION,
    "IsRandom": ExitCode.DEVIATION,
    "Hangs": ExitCode.TARGET,
    "KillsTheProcess": ExitCode.TARGET,
    "Nothing": ExitCode.NOTHING_RAN,
}
"""Targets of fakes.py with the exit code that each would give alone."""
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
    assert json.loads((tmp_path / "ctrf.json").read_text())["results"]["summary"]["passed"] == count
    assert f"{count} of {count} laws passed (100.0 %)" in " ".join(
        re.sub("<[^>]*>", "", (tmp_path / "index.html").read_text()).split()
    )
    assert section.header.planned == count


@dataclass(frozen=True)
class Report:
    """What one run on all misbehaving targets left."""

    result: subprocess.CompletedProcess[str]
    folder: Path
    sections: dict[str, events.Section]


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One run measures them all, so that each is also seen not to harm the next."""
    folder = tmp_path_factory.mktemp("misbehaving")
    targets = [f"--target=module:fakes:{name}" for name in MISBEHAVING]
    result = packproof(
        "run", *targets, "--law", "BIN-001", "--jobs", "1", "--time-limit", "3", "--report", str(folder)
    )
    sections = {section.header.target.rpartition(":")[2]: section for section in events.read(folder / "events.jsonl")}
    return Report(result, folder, sections)


def statuses(section: events.Section) -> set[Status]:
    return {verdict.verdict for verdict in section.verdicts}


def test_every_misbehaving_target_has_a_complete_section(misbehaving: Report) -> None:
    """Whatever a target does, every law has a verdict; the worst one decides the exit code."""
    assert list(misbehaving.sections) == list(MISBEHAVING), misbehaving.result.stdout + misbehaving.result.stderr
    assert not any(section.truncated for section in misbehaving.sections.values())
    assert misbehaving.result.returncode == ExitCode.TARGET
    codes = {name: section.footer.exit_code for name, section in misbehaving.sections.items() if section.footer}
    assert codes == MISBEHAVING


def test_whatever_a_target_raises_is_reported_as_text(misbehaving: Report) -> None:
    """Markup, HTML and control characters of a message reach every report as what they are: text."""
    section = misbehaving.sections["Raises"]
    assert statuses(section) == {Status.FAILED}
    assert all("ZeroDivisionError" in verdict.message for verdict in section.verdicts)
    assert "[red]markup[/red]" in misbehaving.result.stdout
    assert "packproof replay" in misbehaving.result.stdout
    assert "<script>" not in (misbehaving.folder / "summary.md").read_text()
    assert "<script>alert" not in (misbehaving.folder / "index.html").read_text()
    failures = ElementTree.parse(misbehaving.folder / "junit.xml").getroot().findall(".//failure")
    assert any("<script>" in str(failure.get("message")) for failure in failures)


def test_what_a_target_prints_does_not_reach_the_log(misbehaving: Report) -> None:
    assert "straight to the descriptor" not in misbehaving.result.stdout
    assert statuses(misbehaving.sections["Prints"]) == {Status.PASSED}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ChangesItsInput", "leaves its arguments as they were"),
        ("Exits", "raised SystemExit"),
        ("IsRandom", "hold the given lengths"),
        ("Hangs", "hangs"),
        ("KillsTheProcess", "killed its process"),
    ],
)
def test_misbehaviour_is_named_and_blamed_on_the_target(misbehaving: Report, name: str, words: str) -> None:
    broken = [verdict for verdict in misbehaving.sections[name].verdicts if verdict.verdict is not Status.PASSED]
    assert any(words in verdict.message for verdict in broken)
    assert {verdict.blame for verdict in broken} == {Blame.TARGET}


def test_a_target_without_operations_is_not_supported(misbehaving: Report) -> None:
    assert statuses(misbehaving.sections["Nothing"]) == {Status.NOT_SUPPORTED}


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
    entry = (
        '[[deviation]]\nlaw = "BIN-001"\ncase = "case.json"\nharm = "it raises"\n'
        'upstream = "Megatron-Bridge #1"\nknown_as = ["MB-00"]\n'
    )
    path = write_baseline(tmp_path, entry, {**PASSING_CASE, "law": "BIN-001"})
    result, section = measure("module:fakes:Raises", tmp_path, "--baseline", path)
    assert result.returncode == ExitCode.DEVIATION, result.stdout + result.stderr
    by_key = {(verdict.law, verdict.facet): verdict.verdict for verdict in section.verdicts}
    assert by_key["BIN-001", ""] is Status.FAILED_AS_EXPECTED
    assert by_key["BIN-002", ""] is Status.FAILED
    known = {(verdict.law, verdict.facet): (verdict.upstream, verdict.known_as) for verdict in section.verdicts}
    assert known["BIN-001", ""] == ("Megatron-Bridge #1", ("MB-00",))
    assert known["BIN-002", ""] == ("", ())
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


def test_a_case_can_be_replayed_on_its_target_and_on_the_reference(misbehaving: Report) -> None:
    case = str(misbehaving.folder / "cases" / "module-fakes-Raises.BIN-001.json")
    again = packproof("replay", case, "--target", "module:fakes:Raises")
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
