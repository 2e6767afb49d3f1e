"""`packproof upstream` on small checkouts made here, and on real ones where they lie."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from conformance import cli_upstream, overlays, upstream
from conformance.cli_upstream import markdown
from conformance.exit_codes import ExitCode
from conformance.skill_document import LOCATIONS
from conformance.upstream import Expectation, UpstreamError, release_of, verify
from conformance.upstream_report import CommandResult, TestResult, UpstreamReport, findings, verdict

PACKAGE_INFO = """
MAJOR = 0
MINOR = 5
PATCH = 1
PRE_RELEASE = ""
VERSION = (MAJOR, MINOR, PATCH, PRE_RELEASE)
__version__ = "0.5.1"
"""

TEST_PACKING = """
import os
import torch
from megatron.bridge import package_info

def test_one():
    assert package_info.__version__ == "0.5.1"

def test_two_moves_to_the_gpu():
    assert torch.ones(2).cuda().sum() == 2

def test_three_sees_no_secrets():
    assert not [name for name in os.environ if "TOKEN" in name]
"""

TEST_MIXED = """
import pytest

def test_fails(tmp_path):
    assert 1 == 2, "one is not two"

@pytest.mark.skip(reason="no need")
def test_skipped():
    pass

@pytest.mark.xfail(reason="known")
def test_known():
    assert False

@pytest.fixture
def broken():
    yield
    raise RuntimeError("the tear-down broke")

def test_torn(broken):
    pass
"""


def make(folder: Path, document: str, **tests: str) -> Path:
    """A checkout with its own small Megatron-Core, a skill document and test files."""
    files = {
        "src/megatron/core/__init__.py": "",
        "src/megatron/core/package_info.py": "__version__ = '0.18.2'",
        "src/megatron/bridge/__init__.py": "",
        "src/megatron/bridge/package_info.py": PACKAGE_INFO,
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--no-such-option'",
        LOCATIONS[0]: document,
    }
    for name, text in (files | {f"tests/{name}.py": text for name, text in tests.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def document(*commands: str, claims: str = "") -> str:
    return "\n".join(["```bash", *(f"uv run python -m pytest {command}" for command in commands), "```", claims])


@pytest.fixture(autouse=True, scope="module")
def _no_overlay() -> Iterator[None]:
    """The small checkouts bring their own core."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlays, "core_for", lambda _: None)
        patch.setenv("SOME_TOKEN", "secret")
        patch.setenv("PYTEST_ADDOPTS", "--no-such-option")
        yield


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    commands = (
        "tests/test_packing.py -v",
        'tests/test_mixed.py -k "fails or skipped or known or torn"',
        "tests/test_packing.py -k nothing",
        "tests/test_packing.py -p evil",
    )
    claims = "- first command reports `2 passed`\n- second command reports `4 passed`"
    tests = {"test_packing": TEST_PACKING, "test_mixed": TEST_MIXED}
    return make(tmp_path_factory.mktemp("checkout"), document(*commands, claims=claims), **tests)


@pytest.fixture(scope="module")
def report(checkout: Path) -> UpstreamReport:
    return verify(checkout)


def test_claimed_selected_and_passed_stand_side_by_side(report: UpstreamReport) -> None:
    counts = [(command.claimed, command.selected, command.passed) for command in report.commands]
    assert counts == [(2, 3, 3), (4, 4, 0), (None, 0, 0), (None, 0, 0)]


def test_every_selected_test_has_an_outcome(report: UpstreamReport) -> None:
    assert [(test.name, test.outcome) for command in report.commands for test in command.tests] == [
        ("tests/test_packing.py::test_one", "passed"),
        ("tests/test_packing.py::test_two_moves_to_the_gpu", "passed"),
        ("tests/test_packing.py::test_three_sees_no_secrets", "passed"),
        ("tests/test_mixed.py::test_fails", "failed"),
        ("tests/test_mixed.py::test_skipped", "skipped"),
        ("tests/test_mixed.py::test_known", "skipped"),
        ("tests/test_mixed.py::test_torn", "failed"),
    ]


def test_what_is_not_passed_says_why(report: UpstreamReport) -> None:
    messages = [test.message for test in report.commands[1].tests]
    assert "one is not two" in messages[0]
    assert "no need" in messages[1]
    assert "expected to fail" in messages[2]
    assert "the tear-down broke" in messages[3]


def test_a_stale_claim_is_told_in_words(report: UpstreamReport) -> None:
    (stale,) = [finding for finding in report.findings if "stale" in finding]
    assert stale.startswith("Command 1: the claim of 2 passed is stale: 3 tests are selected and 3 passed")
    assert LOCATIONS[0] in stale


def test_a_refused_command_is_told_and_not_run(report: UpstreamReport) -> None:
    assert "Command 4 was refused: it has the option '-p'; only a `-k` expression is taken." in report.findings


def test_a_failing_an_empty_and_a_refused_command_miss_the_expectation(report: UpstreamReport) -> None:
    assert report.expectation.startswith("every selected test")
    assert [command.met for command in report.commands] == [True, False, False, False]
    assert report.verdict is ExitCode.PASS_TARGET
    assert report.last_line == "3 passed, 2 failed, 2 skipped"


def test_the_report_says_whether_tensors_stayed_on_the_cpu(report: UpstreamReport) -> None:
    assert report.environment is not None
    assert report.environment.versions["megatron-core"] == "0.18.2"
    stayed = "torch.Tensor.cuda" in report.environment.replaced
    note = "No GPU is here, so .cuda() stayed on the CPU" if stayed else "A GPU is here"
    assert any(line.startswith(note) for line in report.notes)


@pytest.mark.usefixtures("report")
def test_the_checkout_is_left_as_it_was(checkout: Path) -> None:
    assert {path.name for path in checkout.iterdir()} == {"src", "tests", "skills", "pyproject.toml"}
    assert not list(checkout.rglob("__pycache__"))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> UpstreamReport:
    tests = {
        "test_dies": "import os\ndef test_first(): pass\ndef test_exit(): os._exit(3)\ndef test_later(): pass",
        "test_missing": "import no_such_module\ndef test_first(): pass",
    }
    text = document("tests/test_dies.py", "tests/test_missing.py")
    return verify(make(tmp_path_factory.mktemp("broken"), text, **tests), Expectation.parse("1,0"))


def test_a_process_that_dies_is_told_with_its_test(broken: UpstreamReport) -> None:
    assert "the process ended with exit code 3, in tests/test_dies.py::test_exit" in broken.findings[0]
    assert [test.outcome for test in broken.commands[0].tests] == ["passed", "not run", "not run"]
    assert broken.verdict is ExitCode.TARGET


def test_a_file_that_cannot_be_collected_is_told(broken: UpstreamReport) -> None:
    assert "tests/test_missing.py cannot be collected" in broken.findings[1]
    assert "no_such_module" in broken.findings[1]


def test_a_process_that_hangs_is_ended(tmp_path: Path) -> None:
    text = document("tests/test_hangs.py")
    checkout = make(tmp_path, text, test_hangs="import time\ndef test_sleeps(): time.sleep(1000)")
    report = verify(checkout, limit=1.0)
    assert "hung and was ended after 1 seconds" in report.findings[0]
    assert report.verdict is ExitCode.TARGET


def test_nothing_runs_where_every_command_is_refused(tmp_path: Path) -> None:
    report = verify(make(tmp_path, document("/etc/passwd", "tests -p evil"), test_a="raise SystemExit"))
    assert report.verdict is ExitCode.NOTHING_RAN
    assert report.environment is None


def test_a_folder_without_bridge_or_tests_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError, match="is no Megatron Bridge checkout"):
        verify(tmp_path / "nowhere")
    with pytest.raises(UpstreamError, match="has no folder tests"):
        verify(make(tmp_path, ""))


def test_an_expectation_for_other_commands_is_a_usage_error(checkout: Path) -> None:
    with pytest.raises(UpstreamError, match=r"names 3 count\(s\), but skills/.* has 4 command"):
        verify(checkout, Expectation.parse("8,14,2"))


@pytest.mark.parametrize("text", ["", "8,", "eight", "-1", "8;14;2", "²"])
def test_an_expectation_is_auto_or_counts(text: str) -> None:
    with pytest.raises(UpstreamError, match="neither `auto` nor counts"):
        Expectation.parse(text)


@pytest.mark.parametrize(
    ("release", "commands", "counts"),
    [
        ("0.3.1", 3, (8, 14, 2)),
        ("0.4.2", 3, (8, 14, 2)),
        ("0.5.1", 3, (11, 14, 2)),
        ("0.5.1", 2, None),
        ("0.6.0", 3, None),
    ],
)
def test_recorded_counts_hold_for_their_release(release: str, commands: int, counts: tuple[int, ...] | None) -> None:
    assert Expectation.recorded(release, commands).counts == counts


def test_the_release_is_read_without_running_anything(tmp_path: Path) -> None:
    path = tmp_path / "src" / "megatron" / "bridge" / "package_info.py"
    path.parent.mkdir(parents=True)
    path.write_text("MAJOR = 0\nMINOR = 6\nPATCH = 0\nPRE_RELEASE = 'rc1'\nraise SystemExit")
    assert release_of(tmp_path) == "0.6.0rc1"
    for text, complaint in (("MAJOR = 0", "states no MINOR"), ("MAJOR =", "cannot be read")):
        path.write_text(text)
        with pytest.raises(UpstreamError, match=complaint):
            release_of(tmp_path)


def test_another_release_gets_its_own_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "core_for", lambda _: "0.0.1")
    monkeypatch.setattr(overlays, "overlay", lambda package, version: tmp_path / f"{package}-{version}")
    assert upstream._core("0.0.1") == (tmp_path / "megatron-core-0.0.1", ())


def test_a_core_that_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str, version: str) -> Path:
        raise overlays.OverlayError(f"{package} {version} cannot be fetched")

    monkeypatch.setattr(overlays, "core_for", lambda _: "0.0.1")
    monkeypatch.setattr(overlays, "overlay", missing)
    core, (note,) = upstream._core("0.4.2")
    assert core is None
    assert note.startswith("Megatron-Core 0.0.1 belongs to Bridge 0.4.2, but megatron-core 0.0.1 cannot be fetched")


def result(passed: int = 0, failed: int = 0, **fields: object) -> CommandResult:
    tests = [TestResult(f"p{n}", "passed") for n in range(passed)] + [
        TestResult(f"f{n}", "failed") for n in range(failed)
    ]
    return replace(CommandResult("pytest tests", None, None, tuple(tests)), **fields)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (result(passed=2), ExitCode.OK),
        (result(passed=2, failed=1), ExitCode.PASS_TARGET),
        (result(passed=2, expected=2), ExitCode.OK),
        (result(passed=2, expected=2, failed=1), ExitCode.PASS_TARGET),
        (result(passed=3, expected=2), ExitCode.PASS_TARGET),
        (result(passed=3, expected=3, claimed=2), ExitCode.OK),
        (result(), ExitCode.NOTHING_RAN),
        (result(refused="evil"), ExitCode.NOTHING_RAN),
        (result(passed=2, broken="died"), ExitCode.TARGET),
    ],
)
def test_the_exit_code_says_whether_the_expectation_was_met(command: CommandResult, code: ExitCode) -> None:
    assert verdict([command]) is code


def test_a_claim_that_fails_is_not_called_stale() -> None:
    told = list(findings("SKILL.md", [result(passed=1, failed=1, claimed=2)]))
    assert told == ["Command 1: expected every selected test passed; of 2 selected, 1 passed, 1 failed, 0 skipped."]


def command_line() -> typer.Typer:
    application = typer.Typer()
    application.command("upstream")(cli_upstream.upstream)
    return application


def test_the_command_prints_and_writes_the_report(
    report: UpstreamReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "verify", lambda *_: report)
    run = CliRunner().invoke(command_line(), ["--checkout", "x", "--report", str(tmp_path / "new")])
    assert run.exit_code == ExitCode.PASS_TARGET
    assert run.stdout.splitlines()[-1] == report.last_line
    assert "tests/test_packing.py::test_two_moves_to_the_gpu" in run.stdout
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"upstream.json", "upstream.md"}
    written = json.loads((tmp_path / "new" / "upstream.json").read_bytes())
    assert (written["verdict"], written["commands"][0]["passed"]) == (7, 3)


@pytest.mark.parametrize("options", [["--checkout", "nowhere"], ["--checkout", ".", "--expect", "x"]])
def test_a_usage_error_is_one_line(options: list[str]) -> None:
    run = CliRunner().invoke(command_line(), options)
    assert run.exit_code == ExitCode.USAGE
    assert len(run.stderr.splitlines()) == 1
    assert run.stdout == ""


def test_a_report_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run = CliRunner().invoke(command_line(), ["--checkout", ".", "--report", str(tmp_path / "file")])
    assert run.exit_code == ExitCode.USAGE
    assert "cannot be made" in run.stderr


def test_names_from_a_checkout_do_not_become_markup(report: UpstreamReport) -> None:
    test = TestResult("t.py::t[a|b<img src=x>](http://evil) @maintainer", "passed")
    hostile = replace(report, commands=(replace(report.commands[0], tests=(test,)),))
    row = next(line for line in markdown(hostile).splitlines() if "t.py" in line)
    assert "a\\|b&lt;img src=x&gt;\\](http" in row
    assert "@" not in row


CHECKOUTS = [Path(path) for path in os.environ.get("PACKPROOF_BRIDGE_CHECKOUTS", "").split(os.pathsep) if path]
"""Folders of Megatron Bridge checkouts, joined as in PATH."""


def real(release: str) -> Path:
    found = [checkout for checkout in CHECKOUTS if release_of(checkout) == release]
    return found[0] if found else pytest.skip(f"PACKPROOF_BRIDGE_CHECKOUTS names no checkout of {release}")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("release", "counts", "stale"), [("0.4.2", (8, 14, 2), False), ("0.5.1", (11, 14, 2), True)])
def test_real_checkouts_pass_what_is_recorded(
    release: str, counts: tuple[int, ...], stale: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlays, "core_for", {"0.4.2": "0.17.1", "0.5.1": "0.18.2"}.get)
    report = verify(real(release))
    assert tuple(command.passed for command in report.commands) == counts
    assert report.verdict is ExitCode.OK
    assert any("the claim of 8 passed is stale" in finding for finding in report.findings) is stale


SKIPPED = TestResult("t", "skipped", "Skipped: CUDA not available")
PASSED = TestResult("t", "passed")


@pytest.mark.parametrize(
    ("tests", "expected", "needs_gpu", "met"),
    [
        ((PASSED, SKIPPED), 2, 1, True),
        ((PASSED, PASSED), 2, 1, True),
        ((PASSED, SKIPPED), 2, 0, False),
        ((SKIPPED, SKIPPED), 2, 1, False),
        ((PASSED,), 2, 1, False),
    ],
    ids=["skipped as recorded", "with a GPU", "nothing may be skipped", "one skipped too many", "one not selected"],
)
def test_tests_that_need_a_gpu_may_be_skipped_as_often_as_is_recorded(
    tests: tuple[TestResult, ...], expected: int, needs_gpu: int, *, met: bool
) -> None:
    """A skip is told with its reason, and never counts as passed."""
    result = CommandResult("pytest", None, expected, tests, needs_gpu=needs_gpu)
    assert result.met is met
    assert result.passed == tests.count(PASSED)
    told = list(findings("SKILL.md", [result]))
    assert (told == ["Command 1: 1 of 2 cannot run here: CUDA not available."]) == (met and SKIPPED in tests)


@pytest.mark.parametrize(("expected", "met"), [(0, True), (None, False), (3, False)])
def test_a_command_that_cannot_be_run_is_met_only_where_that_is_recorded(expected: int | None, *, met: bool) -> None:
    """0.6 names files that moved; the finding says so either way."""
    result = CommandResult("pytest x.py", None, expected, refused="'x.py' does not exist in this checkout")
    assert result.met is met
    assert list(findings("SKILL.md", [result])) == ["Command 1 was refused: 'x.py' does not exist in this checkout."]


def test_every_recorded_release_has_its_lists_in_step() -> None:
    """Selected, passed and GPU-only counts are per command; nothing passes that was not selected."""
    table = tomllib.loads(Path(upstream.__file__).with_name("upstream_counts.toml").read_text())
    for entry in table["release"]:
        assert len(entry["selected"]) == len(entry["counts"])
        assert all(passed <= selected for passed, selected in zip(entry["counts"], entry["selected"], strict=True))
        assert len(entry.get("needs_gpu", entry["counts"])) == len(entry["counts"])
