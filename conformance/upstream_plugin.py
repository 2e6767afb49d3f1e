"""pytest plugin of the child process in which ``packproof upstream`` runs a checkout's own tests.

It makes the checkout's ``megatron.bridge`` importable before any of the checkout's files is collected, keeps
``.cuda()`` on the CPU where there is no GPU, and writes what was selected and what became of it to a file of JSON
lines, one event each.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from conformance import isolation

LOG = "PACKPROOF_UPSTREAM_LOG"
"""Environment variable that names the file of events."""


class Environment(msgspec.Struct, frozen=True, tag_field="kind", tag="environment"):
    """How the checkout was imported; written at the start and, with the stand-ins that were touched, at the end."""

    how: Literal["plain", "isolated"]
    stand_ins: tuple[str, ...]
    replaced: tuple[str, ...]
    versions: dict[str, str]


class Selected(msgspec.Struct, frozen=True, tag_field="kind", tag="selected"):
    """A test that the command selects."""

    test: str


class Uncollected(msgspec.Struct, frozen=True, tag_field="kind", tag="uncollected"):
    """A file that could not be collected."""

    path: str
    message: str


class Started(msgspec.Struct, frozen=True, tag_field="kind", tag="started"):
    """A test that begins; the last one without an outcome is where a process died."""

    test: str


class Outcome(msgspec.Struct, frozen=True, tag_field="kind", tag="outcome"):
    """What became of a test; a later outcome of the same test replaces an earlier one."""

    test: str
    outcome: Literal["passed", "failed", "skipped"]
    message: str


class Finished(msgspec.Struct, frozen=True, tag_field="kind", tag="finished"):
    """The session came to its end."""


type Event = Environment | Selected | Uncollected | Started | Outcome | Finished

_path = os.environ.get(LOG)  # read now: tests may clear the environment


def _write(event: Event) -> None:
    if _path:
        with Path(_path).open("ab") as file:
            file.write(msgspec.json.encode(event) + b"\n")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Import the checkout's Megatron Bridge before its conftest files do."""
    try:
        isolation.activate(early_config.rootpath / "src", cuda_stand_in=True)
    except isolation.IsolationError as error:
        raise pytest.UsageError(str(error)) from error
    sys.path.insert(0, str(early_config.rootpath))  # as `python -m pytest` does
    _write_environment()


def _write_environment() -> None:
    imported = isolation.activate(cuda_stand_in=True)
    _write(Environment(imported.how, imported.stand_ins, imported.replaced, dict(imported.versions)))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Record a file that could not be collected."""
    if report.failed:
        _write(Uncollected(report.nodeid, _message(report)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Record what was selected."""
    for item in session.items:
        _write(Selected(item.nodeid))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record that a test begins."""
    _write(Started(nodeid))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record what became of a test; a set-up or tear-down counts only when it does not pass."""
    expected_to_fail: str | None = getattr(report, "wasxfail", None)
    if expected_to_fail is not None:
        _write(Outcome(report.nodeid, "skipped", f"marked as expected to fail, {report.outcome}: {expected_to_fail}"))
    elif report.when == "call" or report.outcome != "passed":
        _write(Outcome(report.nodeid, report.outcome, "" if report.passed else _message(report)))


def _message(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The error in one line."""
    representation: Any = report.longrepr
    crash = getattr(representation, "reprcrash", None)
    if crash is not None:
        return str(crash.message).partition("\n")[0]
    if isinstance(representation, tuple):
        return str(representation[-1])  # pyright: ignore[reportUnknownArgumentType]  (path, line, reason of a skip)
    lines = [line for line in str(representation).splitlines() if line.strip()]
    return lines[-1].removeprefix("E").strip() if lines else ""


def pytest_sessionfinish() -> None:
    """Record that the session came to its end."""
    _write_environment()
    _write(Finished())
