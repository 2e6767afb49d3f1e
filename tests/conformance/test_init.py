"""`packproof init`: what it writes works, and it overwrites nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from conformance.cli import app
from conformance.cli_init import FILES
from conformance.exit_codes import ExitCode
from reference_impl.interface import Op


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_packing.py"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_skeleton_passes_as_written_and_fails_once_it_is_wrong(folder: Path) -> None:
    """The test that comes with it is a real one: it catches a mistake in the adapter."""
    assert CliRunner().invoke(app, ["init"]).exit_code == ExitCode.OK
    right = pytest_in(folder)
    assert right.returncode == 0, right.stdout + right.stderr
    adapter = folder / "packproof_adapter.py"
    mistaken = adapter.read_text().replace("valid=_boundaries(lengths)", "valid=_boundaries(padded)")
    assert mistaken != adapter.read_text()
    adapter.write_text(mistaken)
    test = folder / "test_packing.py"
    test.write_text(test.read_text().replace("check(MyPacker())", 'check(MyPacker(), laws="LAY-001")'))
    wrong = pytest_in(folder)
    assert wrong.returncode == 1
    assert "LAY-001" in wrong.stdout


def test_the_skeleton_names_every_operation(folder: Path) -> None:
    CliRunner().invoke(app, ["init"])
    text = (folder / "packproof_adapter.py").read_text()
    assert all(operation in text for operation in Op)


def test_the_workflow_is_yaml_that_runs_test_and_report(folder: Path) -> None:
    CliRunner().invoke(app, ["init"])
    workflow = yaml.safe_load((folder / ".github/workflows/packing.yml").read_text())
    commands = [step.get("run", "") for step in workflow["jobs"]["packing"]["steps"]]
    assert "pytest test_packing.py" in commands
    assert any("packproof run --target module:packproof_adapter:MyPacker" in command for command in commands)


@pytest.mark.parametrize("name", FILES)
def test_an_existing_file_is_named_and_nothing_is_written(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    result = CliRunner().invoke(app, ["init"])
    assert result.exit_code == ExitCode.USAGE
    assert result.stderr.splitlines() == [
        f"packproof: {name} exists already, and nothing was written: move it away, or call init elsewhere"
    ]
    assert (folder / name).read_text() == "mine"
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / name]
