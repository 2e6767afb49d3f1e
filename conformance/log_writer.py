"""Writes the event log of a run from pytest's reports, in the process that sees them all."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance import baseline, events
from conformance.events import BLAME, Blame, Event, Footer, Header, PassTarget, Status, Verdict
from conformance.pass_targets import SUITES
from conformance.plugin import PROPERTY
from conformance.results import exit_code
from properties.law import Law, catalogue


class LogWriter:
    """Appends a line for each finished law and pass-target test; the footer when all that were collected are there."""

    def __init__(self, path: Path, baseline_choice: str | None) -> None:
        self.path = path
        self.header: Header = events.read(path)[-1].header
        self.known = baseline.resolve(baseline_choice, "", "")
        self.started = time.perf_counter()
        self.planned = 0
        self.logged = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without xdist."""
        self.planned = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        """With xdist: every worker collects the same."""
        del node
        self.planned = len(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Log what a report says, if it says something."""
        event = self._event(report)
        if event is not None:
            events.append(self.path, event)
            self.logged += 1

    def pytest_sessionfinish(self) -> None:
        """Write the footer, unless verdicts are missing: a log without a footer is a truncated run."""
        if self.logged < self.planned:
            return
        section = events.read(self.path)[-1]
        unknown = self.known.unknown(catalogue()) if self.known.deviations else ()
        footer = Footer(
            finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            seconds=round(time.perf_counter() - self.started, 2),
            counts=dict(Counter(str(verdict.verdict) for verdict in section.verdicts)),
            exit_code=exit_code(section, unknown_entries=len(unknown)),
            problems=tuple(f"the baseline names {entry.key!r}, but there is no such law" for entry in unknown),
        )
        events.append(self.path, footer)

    def _event(self, report: pytest.TestReport) -> Event | None:
        found: Any = dict(report.user_properties).get(PROPERTY)
        if found is not None:
            return msgspec.json.decode(str(found), type=Verdict) if report.when == "call" else None
        if report.when == "teardown" or (report.when == "setup" and report.passed):
            return None
        file, _, test = report.nodeid.replace("\\", "/").rpartition("/")[2].partition("::")
        for suite in SUITES:
            if file == suite.file_name:
                return self._pass_target(suite.name, test, report)
        law = _laws_by_test().get(f"{file}::{test}")
        return self._accident(law, report) if law else None

    def _pass_target(self, suite: str, test: str, report: pytest.TestReport) -> PassTarget:
        status = {"passed": Status.PASSED, "skipped": Status.NOT_SUPPORTED}.get(report.outcome, Status.FAILED)
        return PassTarget(
            suite=suite,
            test=test,
            target=self.header.target,
            target_version=self.header.target_version,
            verdict=status,
            seconds=round(report.duration, 4),
            message="" if status is Status.PASSED else _last_words(report),
        )

    def _accident(self, law: Law, report: pytest.TestReport) -> Verdict:
        crashed = report.when not in {"setup", "call"}  # xdist reports a dead worker in a phase of its own
        what = "the target killed its process" if crashed else "the target could not be loaded"
        return Verdict(
            law=law.id,
            facet=law.facet,
            claim=law.claim,
            target=self.header.target,
            target_version=self.header.target_version,
            verdict=Status.ENVIRONMENT_ERROR,
            blame=Blame.TARGET if crashed else BLAME[Status.ENVIRONMENT_ERROR],
            seconds=round(report.duration, 4),
            examples=0,
            message=f"{what}: {_last_words(report)}",
            harm=law.harm,
        )


@cache
def _laws_by_test() -> Mapping[str, Law]:
    """Only once something went wrong: the process that writes the log need not load a law for that."""
    return {f"{law.check.__module__.rpartition('.')[2]}.py::{law.check.__name__}": law for law in catalogue().values()}


def _last_words(report: pytest.TestReport) -> str:
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message)
    if isinstance(report.longrepr, tuple):  # a skip: path, line, reason
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(report.longrepr).strip().rpartition("\n")[2]
