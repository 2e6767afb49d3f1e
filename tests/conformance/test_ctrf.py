"""CTRF reports, held against what the format's schema requires, restated here as strict types."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from logs import HOSTILE, header, section, verdict

from conformance.events import Status
from conformance.reports import ctrf

Outcome = Literal["passed", "failed", "skipped", "pending", "other"]


class Tool(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    version: str


class Summary(msgspec.Struct, forbid_unknown_fields=True):
    tests: int
    passed: int
    failed: int
    skipped: int
    pending: int
    other: int
    suites: int
    start: int
    stop: int


class Test(msgspec.Struct, forbid_unknown_fields=True):
    __test__ = False

    name: str
    status: Outcome
    duration: int
    suite: list[str]
    rawStatus: str  # noqa: N815 - the format's own name
    message: str = ""


class Results(msgspec.Struct, forbid_unknown_fields=True):
    tool: Tool
    summary: Summary
    tests: list[Test]


class Report(msgspec.Struct, forbid_unknown_fields=True):
    reportFormat: Literal["CTRF"]  # noqa: N815
    specVersion: str  # noqa: N815
    generatedBy: str  # noqa: N815
    results: Results


def test_every_verdict_is_a_test_of_the_right_status(tmp_path: Path) -> None:
    """*Failed as expected* counts neither as passed nor as failed."""
    verdicts = [verdict(f"BIN-00{number}", status) for number, status in enumerate(Status)]
    ctrf.write([section(header(), *verdicts)], tmp_path / "ctrf.json")
    report = msgspec.json.decode((tmp_path / "ctrf.json").read_bytes(), type=Report)
    summary = report.results.summary
    assert {test.rawStatus: test.status for test in report.results.tests} == {
        "passed": "passed", "failed": "failed", "stale": "failed", "harness error": "failed",
        "environment error": "failed", "failed as expected": "other", "not supported": "skipped",
    }  # fmt: skip
    assert (summary.tests, summary.passed, summary.failed, summary.skipped, summary.other) == (7, 1, 4, 1, 1)
    assert summary.stop - summary.start == 9000


def test_a_truncated_run_is_a_failed_test() -> None:
    report = ctrf.report([section(header(), verdict("BIN-001"), truncated=True)])
    assert report["results"]["summary"]["failed"] == 1


def test_messages_are_kept_as_they_are(tmp_path: Path) -> None:
    ctrf.write([section(header(), verdict("BIN-001", Status.FAILED, message=HOSTILE))], tmp_path / "ctrf.json")
    report = msgspec.json.decode((tmp_path / "ctrf.json").read_bytes(), type=Report)
    assert report.results.tests[0].message == HOSTILE
