"""Baselines of the targets beside Megatron Bridge: whole, replayable, and neither too long nor too short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance import baseline, cases
from conformance.exit_codes import ExitCode
from conformance.targets.loading import BRIDGE
from properties import museum
from properties.law import catalogue

BASELINES = [
    baseline.read(path) for path in sorted(baseline.FOLDER.glob("*.toml")) if not path.name.startswith(BRIDGE)
]
ENTRIES = [
    pytest.param(found, entry, id=f"{found.path and found.path.stem} {entry.key}")
    for found in BASELINES
    for entry in found.deviations
]
FOUND = Path(museum.__file__).parent / "found"
MEASURED = {
    "trl==1.16.0": ("COL-007", "COL-00[12]", "PCK-003", "POS-*"),
    "nemo-automodel==0.7.0": ("COL-00[18]", "BIN-00[12]"),
    "megatron-core==0.18.2": ("MTP-001", "ROT-00[16]", "SCH-*"),
}
"""Targets with laws of which some hold and some are broken."""


@pytest.mark.parametrize(("found", "entry"), ENTRIES)
def test_an_entry_has_a_law_a_harm_and_a_case_that_fits(found: baseline.Baseline, entry: baseline.Deviation) -> None:
    """And it says since when, until when, and when to look again; a deviation found here has its text."""
    assert entry.harm
    assert entry.since
    assert entry.until
    assert entry.review_by
    path = found.case_path(entry)
    assert path is not None
    case = cases.read(path)
    assert case.key == entry.key
    assert set(cases.inputs_of(case, catalogue()[entry.key])) == set(catalogue()[entry.key].strategies)
    texts = [name.removeprefix("found/") for name in entry.known_as if name.startswith("found/")]
    assert all((FOUND / f"{name}.md").is_file() for name in texts)


@pytest.mark.parametrize("found", BASELINES, ids=lambda found: found.path.stem)
def test_no_law_is_listed_twice(found: baseline.Baseline) -> None:
    """Nor is there a baseline of nothing."""
    keys = [entry.key for entry in found.deviations]
    assert keys
    assert len(keys) == len(set(keys))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", MEASURED)
@pytest.mark.parametrize(("options", "code"), [([], ExitCode.OK), (["--baseline", "none"], ExitCode.DEVIATION)])
def test_a_run_holds_a_target_to_its_baseline(target: str, options: list[str], code: ExitCode) -> None:
    """The same laws are green with the baseline and red without it."""
    laws = [f"--law={glob}" for glob in MEASURED[target]]
    command = [sys.executable, "-P", "-c", "from conformance.cli import main; main()", "run", "--target", target]
    result = subprocess.run([*command, *laws, *options], capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stdout[-3000:] + result.stderr
    assert " 0 passed" not in result.stdout.splitlines()[-1]
