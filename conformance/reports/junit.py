"""JUnit XML, for CI systems."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from conformance.cases import write_atomically
from conformance.events import PassTarget, Section, Status, Verdict
from conformance.reports.columns import release
from conformance.results import troubles

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(sections: list[Section], path: Path) -> None:
    """Write one test suite per target."""
    document = JUnitXml("packproof")
    for section in sections:
        suite = TestSuite(_xml(release(section.header)))
        suite.timestamp = section.header.started
        for name, value in section.header.versions.items():
            suite.add_property(_xml(name), _xml(value))
        suite.add_testcases([_case(event) for event in [*section.verdicts, *section.pass_targets]])
        for trouble in troubles(section):
            case = TestCase(_xml(trouble.name), "packproof")
            case.result = [Error(_xml(trouble.message), "run")]
            suite.add_testcase(case)
        document.add_testsuite(suite)
    write_atomically(path, cast("bytes", document.tostring()))


def _case(event: Verdict | PassTarget) -> TestCase:
    if isinstance(event, PassTarget):
        case = TestCase(_xml(event.test), _xml(f"pass-target.{event.suite}"), event.seconds)
    else:
        case = TestCase(_xml(f"{event.key} {event.claim}"), _xml(f"law.{event.law.partition('-')[0]}"), event.seconds)
    message = _xml(event.message)
    if event.verdict in {Status.FAILED, Status.STALE}:
        case.result = [Failure(message, str(event.verdict))]
    elif event.verdict in {Status.HARNESS_ERROR, Status.ENVIRONMENT_ERROR}:
        case.result = [Error(message, str(event.verdict))]
    elif event.verdict is not Status.PASSED:
        case.result = [Skipped(message, str(event.verdict))]
    return case


def _xml(text: str) -> str:
    """XML 1.0 has no place for most control characters; a target's messages may hold them."""
    return _NOT_XML.sub("�", text)
