"""Every report of a run is red where its exit code is not 0, and green where it is."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from logs import footer, header, section, verdict
from rich.console import Console

from conformance.events import PassTarget, Section, Status
from conformance.exit_codes import ExitCode
from conformance.pass_targets import SUITES
from conformance.reports import files, terminal
from conformance.results import exit_code, troubles

SUITE = SUITES[-1]


def with_suite(*statuses: Status) -> Section:
    """A run of one passed law and some tests of a pass target."""
    made = section(msgspec.structs.replace(header(), operations=(SUITE.operation,)), verdict("BIN-001"))
    made.pass_targets += [
        PassTarget(suite=SUITE.name, test=str(number), target="t", target_version="", verdict=status, seconds=0.1)
        for number, status in enumerate(statuses)
    ]
    made.footer = footer(made)
    return made


def with_problem() -> Section:
    """A run whose baseline names a law that does not exist."""
    made = section(header(), verdict("BIN-001"))
    assert made.footer
    made.footer = msgspec.structs.replace(
        made.footer, problems=("the baseline names 'NOPE-1'",), exit_code=exit_code(made, unknown_entries=1)
    )
    return made


ALL = [Status.PASSED] * SUITE.expected
RUNS = {
    "passed": section(header(), verdict("BIN-001")),
    "known": section(header(), verdict("BIN-001", Status.FAILED_AS_EXPECTED)),
    "pass target met": with_suite(*ALL),
    "failed": section(header(), verdict("BIN-001", Status.FAILED)),
    "stale": section(header(), verdict("BIN-001", Status.STALE)),
    "crashed": section(header(), verdict("BIN-001", Status.ENVIRONMENT_ERROR)),
    "harness": section(header(), verdict("BIN-001", Status.HARNESS_ERROR)),
    "nothing ran": section(header(), verdict("BIN-001", Status.NOT_SUPPORTED)),
    "unknown entry": with_problem(),
    "pass target failed": with_suite(*ALL[1:], Status.FAILED),
    "pass target skipped": with_suite(*ALL[1:], Status.NOT_SUPPORTED),
    "pass target incomplete": with_suite(*ALL[1:]),
    "truncated": section(header(planned=2), verdict("BIN-001"), truncated=True),
}
GREEN = {"passed", "known", "pass target met"}


def test_the_runs_below_end_in_every_way_that_a_run_can_end() -> None:
    """All exit codes of a measurement are among them."""
    codes = {run.footer.exit_code for run in RUNS.values() if run.footer}
    assert codes == set(ExitCode) - {ExitCode.USAGE}


@pytest.mark.parametrize("name", RUNS)
def test_a_report_is_green_exactly_where_the_exit_code_is_0(name: str, tmp_path: Path) -> None:
    """Badge, JUnit, CTRF, Markdown and page alike."""
    run = RUNS[name]
    files.write([run], tmp_path)
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    lines = (tmp_path / "summary.md").read_text().splitlines()
    page = (tmp_path / "index.html").read_text()
    marks = ('<p class="loud"', '<p class="problem"', '<li class="unmet"', "Truncated run.")
    green = {
        "badge": json.loads((tmp_path / "badge.json").read_bytes())["color"] == "brightgreen",
        "junit": suite.get("failures") == suite.get("errors") == "0",
        "ctrf": json.loads((tmp_path / "ctrf.json").read_bytes())["results"]["summary"]["failed"] == 0,
        "markdown": not any(line.startswith(("**", "### Failures", "* ")) for line in lines[:-3]),
        "page": not any(mark in page for mark in marks),
        "exit code": run.footer is not None and run.footer.exit_code is ExitCode.OK,
    }
    assert green == dict.fromkeys(green, name in GREEN)


@pytest.mark.parametrize("name", RUNS)
def test_trouble_of_a_whole_run_is_printed(name: str) -> None:
    """What no verdict says, the terminal says in words."""
    output = io.StringIO()
    terminal.print_section(Console(file=output, width=200), RUNS[name], None)
    assert all(trouble.message in output.getvalue() for trouble in troubles(RUNS[name]))
