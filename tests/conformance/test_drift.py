"""The drift table: every fixed bug of the corpus that was once reproduced, in every measured release."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import baseline, drift, events
from conformance.drift import Bug, Finding
from conformance.events import BLAME, Footer, Header, Section, Status, Verdict
from conformance.exit_codes import ExitCode
from properties.law import catalogue

RELEASES, BUGS = drift.read()
EXPECTED = drift.expected(RELEASES, BUGS)
HEADER = Header(
    packproof="", target="megatron-bridge==1", target_version="1", versions={}, imported="", stand_ins=(),
    operations=(), python="", platform="", profile="", seed=0, started="", baseline=None,
)  # fmt: skip


def section(**found: Status) -> Section:
    verdicts = [
        Verdict(
            law=law, facet="", claim="", target="", target_version="1", verdict=status, blame=BLAME[status],
            seconds=0.0, examples=1,
        )
        for law, status in found.items()
    ]  # fmt: skip
    return Section(HEADER, verdicts, [], Footer(finished="", seconds=0, counts={}, exit_code=ExitCode.OK))


@pytest.mark.parametrize(
    ("found", "finding"),
    [
        ({"A": Status.FAILED, "B": Status.PASSED}, Finding.FOUND),
        ({"A": Status.FAILED_AS_EXPECTED, "B": Status.NOT_SUPPORTED}, Finding.FOUND),
        ({"A": Status.PASSED, "B": Status.NOT_SUPPORTED}, Finding.NOT_FOUND),
        ({"A": Status.STALE}, Finding.NOT_FOUND),
        ({"A": Status.NOT_SUPPORTED, "B": Status.NOT_SUPPORTED}, Finding.NOT_REACHABLE),
        ({"A": Status.HARNESS_ERROR}, Finding.NOT_REACHABLE),
        ({"C": Status.FAILED}, Finding.NOT_REACHABLE),
    ],
)
def test_a_finding_follows_the_verdicts_of_the_laws_of_the_bug(found: dict[str, Status], finding: Finding) -> None:
    """No verdict is no evidence; a stale entry is a law that holds."""
    [cell] = drift.measured([section(**found)], [Bug(id="X", laws=("A", "B"))])
    assert cell.finding is finding


def test_what_hides_a_bug_is_told_instead_of_a_finding() -> None:
    """A law may be broken by another bug in one release."""
    bug = Bug(id="X", laws=("A",), hidden={"1": "another bug hides it"})
    [cell] = drift.measured([section(A=Status.FAILED)], [bug])
    assert (cell.finding, cell.why) == (Finding.NOT_REACHABLE, "another bug hides it")


def test_every_row_names_laws_or_says_why_none_reaches_the_bug() -> None:
    """Laws exist; no pair of bug and release is left without an answer."""
    assert len({bug.id for bug in BUGS}) == len(BUGS) == 33
    for bug in BUGS:
        assert bool(bug.laws) != bool(bug.why), bug.id
        assert set(bug.laws) <= set(catalogue()), bug.id
    assert len(EXPECTED) == len(BUGS) * len(RELEASES)
    assert all(cell.why for cell in EXPECTED if cell.finding is Finding.NOT_REACHABLE)


@pytest.mark.parametrize("release", RELEASES)
def test_the_table_agrees_with_the_baseline(release: str) -> None:
    """What is found is in the baseline of the release; what is not found is not."""
    known = {entry.key for entry in baseline.find("megatron-bridge", release).deviations}
    for bug in BUGS:
        finding = bug.releases.get(release, Finding.NOT_REACHABLE)
        if finding is not Finding.NOT_REACHABLE:
            assert bool(known & set(bug.laws)) == (finding is Finding.FOUND), bug.id


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_the_table_comes_out_of_a_run_of_every_release(tmp_path: Path) -> None:
    """The matrix is green against the baselines, and its log gives the table, cell by cell."""
    targets = [f"megatron-bridge=={release}" for release in RELEASES]
    command = [sys.executable, "-P", "-c", "from conformance.cli import main; main()", "matrix", *targets]
    result = subprocess.run(
        [*command, "--report", str(tmp_path), "--time-limit", "600"],
        env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == ExitCode.OK, result.stdout[-4000:] + result.stderr
    assert drift.measured(events.read(tmp_path / "events.jsonl"), BUGS) == tuple(
        cell for bug in BUGS for cell in EXPECTED if cell.bug == bug.id
    )
