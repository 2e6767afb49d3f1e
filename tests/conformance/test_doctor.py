"""`packproof doctor` says what runs here and names what is missing for the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from conformance import doctor
from conformance.cli import app
from conformance.machine import Device, Machine, Needs, missing
from conformance.suites import SUITES

EMPTY = Machine(ranks=1)
FULL = Machine(
    devices=tuple(Device("some device", 80.0, (9, 0)) for _ in range(8)),
    ranks=8,
    packages={name: "1" for suite in SUITES.values() for name in suite.needs.packages},
)
CHECKOUT = Path(__file__).parents[2]


def packproof(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *arguments])


def test_an_empty_machine_runs_only_what_needs_nothing() -> None:
    """And everything else says what it lacks."""
    findings = {finding.name: finding for finding in doctor.examine(EMPTY)}
    assert not findings["reference"].missing
    assert "package megatron-bridge (not installed)" in findings["megatron-bridge"].missing
    suite = findings["te-kernels"]
    assert "1 CUDA device(s), here are 0" in suite.missing
    assert "package transformer-engine (not installed)" in suite.missing


def test_a_full_machine_runs_every_suite() -> None:
    """With eight devices and all packages nothing is missing."""
    assert not [finding for finding in doctor.examine(FULL) if finding.kind == "suite" and finding.missing]


@pytest.mark.parametrize(
    ("needs", "phrase"),
    [
        (Needs(devices=2), "2 CUDA device(s), here are 1"),
        (Needs(devices=1, gib=100.0), "a CUDA device of 100 GiB, here are 80"),
        (Needs(ranks=16), "16 ranks, here are 8 (PACKPROOF_RANKS sets how many)"),
        (Needs(packages=("flash_attn",)), "package flash-attn (not importable)"),
    ],
)
def test_what_is_missing_is_one_phrase_with_what_is_there(needs: Needs, phrase: str) -> None:
    """A reader knows what to get."""
    machine = Machine(FULL.devices[:1], 8, {}, {"flash_attn": "not importable"})
    assert missing(needs, machine) == (phrase,)


def test_suites_name_files_that_exist_and_tests_that_belong_to_them() -> None:
    """The table of suites and the markers of the tests do not drift apart."""
    for suite in SUITES.values():
        text = (CHECKOUT / "gpu_tests" / suite.file).read_text()
        assert f'suite("{suite.name}")' in text, f"{suite.file} has no test of {suite.name}"


def test_json_holds_the_machine_and_every_finding() -> None:
    """For whoever schedules suites over machines."""
    result = packproof("--format", "json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {"devices", "ranks", "packages", "unusable"} <= set(told["machine"])
    assert len(told["findings"]) == len(doctor.examine(EMPTY))


def test_text_ends_with_a_count() -> None:
    """Exit code 0, whatever is missing: a diagnosis is no failure."""
    result = packproof()
    assert result.exit_code == 0, result.output
    assert result.stdout.strip().splitlines()[-1].endswith("run here")


def test_an_unknown_format_is_a_usage_error() -> None:
    """With the way out."""
    result = packproof("--format", "xml")
    assert result.exit_code == 2
    assert "choose text or json" in result.stderr
