"""The baselines of Megatron Bridge: whole, replayable, and naming the defects that must be found."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conformance import baseline, cases
from conformance.exit_codes import ExitCode
from properties.law import catalogue

BASELINE = baseline.find("megatron-bridge", "0.5.1")
RELEASES = ("0.3.1", "0.4.2", "0.5.1", "0.6.2")
ENTRIES = [
    pytest.param(found, entry, id=f"{release} {entry.key}")
    for release in RELEASES
    for found in [baseline.find("megatron-bridge", release)]
    for entry in found.deviations
]
REQUIRED = (
    *("MB-10", "MB-12", "MB-15", "MB-46"),
    *("S2", "S3", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S14", "S16", "S18", "S19", "S21", "S22", "S36"),
)
"""Defects that the specification lists for 0.5.1 in the operations that are measured here."""


@pytest.mark.parametrize("known", REQUIRED)
def test_a_known_defect_is_in_the_baseline(known: str) -> None:
    assert any(known in entry.known_as for entry in BASELINE.deviations)


@pytest.mark.parametrize(("found", "entry"), ENTRIES)
def test_an_entry_has_a_law_a_harm_and_a_case_that_fits(found: baseline.Baseline, entry: baseline.Deviation) -> None:
    """And it says since when, until when, and when to look again."""
    law = catalogue()[entry.key]
    assert entry.harm
    assert entry.review_by
    assert entry.since in RELEASES
    assert entry.until in RELEASES
    path = found.case_path(entry)
    assert path is not None
    case = cases.read(path)
    assert case.key == entry.key
    assert set(cases.inputs_of(case, law)) == set(law.strategies)


@pytest.mark.parametrize("release", RELEASES)
def test_no_law_is_listed_twice(release: str) -> None:
    """Nor does an entry claim a stretch of releases that its own is not in."""
    deviations = baseline.find("megatron-bridge", release).deviations
    assert deviations
    assert all(entry.since <= release <= entry.until for entry in deviations)
    keys = [entry.key for entry in deviations]
    assert len(keys) == len(set(keys))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("options", "code"), [([], ExitCode.OK), (["--baseline", "none"], ExitCode.DEVIATION)])
def test_a_run_holds_bridge_to_its_baseline(options: list[str], code: ExitCode) -> None:
    """The same run is green with the baseline and red without it."""
    command = [sys.executable, "-P", "-c", "from conformance.cli import main; main()", "run", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stdout[-3000:] + result.stderr
    if code is ExitCode.DEVIATION:
        assert "BIN-009[longer than the capacity]" in result.stdout
