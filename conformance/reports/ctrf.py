"""CTRF (Common Test Report Format), for CI tools that read it; the format's schema is at ctrf.io."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from conformance.cases import write_atomically
from conformance.events import PassTarget, Section, Status, Verdict
from conformance.reports.columns import release
from conformance.results import Trouble, troubles

SPEC_VERSION = "1.0.0"
STATUS = {
    Status.PASSED: "passed",
    Status.FAILED: "failed",
    Status.STALE: "failed",
    Status.HARNESS_ERROR: "failed",
    Status.ENVIRONMENT_ERROR: "failed",
    Status.FAILED_AS_EXPECTED: "other",
    Status.NOT_SUPPORTED: "skipped",
}
"""*Failed as expected* is no pass and no failure that anybody must act on."""


def write(sections: list[Section], path: Path) -> None:
    """Write one report for all targets."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(report(sections)), indent=1) + b"\n")


def report(sections: list[Section]) -> dict[str, Any]:
    """The report as plain data; times are in milliseconds."""
    tests = [_test(section, event) for section in sections for event in [*section.verdicts, *section.pass_targets]]
    tests += [_trouble(section, trouble) for section in sections for trouble in troubles(section)]
    found = Counter(test["status"] for test in tests)
    starts = [_milliseconds(section.header.started) for section in sections]
    stops = [_milliseconds(section.footer.finished) for section in sections if section.footer]
    summary = {status: found[status] for status in ("passed", "failed", "skipped", "pending", "other")}
    return {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "generatedBy": "packproof",
        "results": {
            "tool": {"name": "packproof", "version": sections[0].header.packproof},
            "summary": {
                "tests": len(tests),
                **summary,
                "suites": len(sections),
                "start": min(starts),
                "stop": max([*starts, *stops]),
            },
            "tests": tests,
        },
    }


def _test(section: Section, event: Verdict | PassTarget) -> dict[str, Any]:
    is_law = isinstance(event, Verdict)
    suite = f"law {event.law.partition('-')[0]}" if is_law else f"pass target {event.suite}"
    test: dict[str, Any] = {
        "name": f"{event.key} {event.claim}" if is_law else event.test,
        "status": STATUS[event.verdict],
        "rawStatus": str(event.verdict),
        "duration": round(1000 * event.seconds),
        "suite": [release(section.header), suite],
    }
    if event.message:
        test["message"] = event.message
    return test


def _trouble(section: Section, trouble: Trouble) -> dict[str, Any]:
    return {
        "name": trouble.name,
        "status": "failed",
        "rawStatus": "truncated" if section.truncated else "trouble of the run",
        "duration": 0,
        "suite": [release(section.header)],
        "message": trouble.message,
    }


def _milliseconds(time: str) -> int:
    return round(1000 * datetime.datetime.fromisoformat(time).timestamp())
