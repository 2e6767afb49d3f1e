"""The baseline of Megatron Bridge 0.5.1: whole, replayable, and naming the defects that must be found."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conformance import baseline, cases
from conformance.exit_codes import ExitCode
from properties.law import catalogue

BASELINE = baseline.find("megatron-bridge", "0.5.1")
REQUIRED = (
    *("MB-10", "MB-12", "MB-15", "MB-46"),
    *("S2", "S3", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S14", "S16", "S18", "S19", "S21", "S22", "S36"),
)
"""Defects that the specification lists for 0.5.1 in the operations that are measured here."""


@pytest.mark.parametrize("known", REQUIRED)
def test_a_known_defect_is_in_the_baseline(known: str) -> None:
    assert any(known in entry.known_as for entry in BASELINE.deviations)


@pytest.mark.parametrize("entry", BASELINE.deviations, ids=lambda entry: entry.key)
def test_an_entry_has_a_law_a_harm_and_a_case_that_fits(entry: baseline.Deviation) -> None:
    law = catalogue()[entry.key]
    assert entry.harm
    assert entry.review_by
    path = BASELINE.case_path(entry)
    assert path is not None
    case = cases.read(path)
    assert case.key == entry.key
    assert set(cases.inputs_of(case, law)) == set(law.strategies)


def test_no_law_is_listed_twice() -> None:
    keys = [entry.key for entry in BASELINE.deviations]
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
