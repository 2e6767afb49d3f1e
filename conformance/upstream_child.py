"""Run one pytest command of a checkout in a process of its own and say what came of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from conformance import upstream_plugin
from conformance.skill_document import Command
from conformance.upstream_plugin import Environment, Event, Finished, Outcome, Selected, Started, Uncollected
from conformance.upstream_report import TestResult, printable


@dataclass(frozen=True)
class Run:
    """What came of one command.

    Attributes:
        tests: the selected tests.
        broken: why the process came to no end, or what could not be collected.
        environment: how the checkout was imported; None where the process did not get that far.
    """

    tests: tuple[TestResult, ...] = ()
    broken: str | None = None
    environment: Environment | None = None


def run(checkout: Path, command: Command, core: Path | None, limit: float) -> Run:
    """Run a command.

    Args:
        checkout: absolute path of the checkout.
        command: what to run.
        core: folder to import Megatron-Core from instead of the installed one.
        limit: seconds after which the process and its children are killed.
    """
    with tempfile.TemporaryDirectory(prefix="packproof-upstream-") as folder:
        scratch = Path(folder)
        (scratch / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # instead of upstream's and of ours
        log, output = scratch / "events.jsonl", scratch / "output.txt"
        environment = _environment(core) | {upstream_plugin.LOG: str(log)}
        ending = _child(_arguments(checkout, command, scratch), checkout, environment, output, limit)
        try:
            events = list(_events(log))
        except (OSError, msgspec.DecodeError) as error:
            return Run(broken=printable(f"its events cannot be read: {error}"))
        broken = _broken(events, ending, output)
    seen = [event for event in events if isinstance(event, Environment)]
    return Run(tuple(_tests(events)), printable(broken) if broken else None, seen[-1] if seen else None)


def _arguments(checkout: Path, command: Command, scratch: Path) -> list[str]:
    """The command line. Paths are absolute and the expression is glued to ``-k``, so neither can be an option."""
    return [
        *(sys.executable, "-P", "-m", "pytest", "-c", str(scratch / "pytest.ini")),
        *(f"--rootdir={checkout}", f"--confcutdir={checkout}", f"--basetemp={scratch / 'tmp'}"),
        *("-p", "no:cacheprovider", "-p", upstream_plugin.__name__, "--tb=short", "--color=no"),
        *([f"-k{command.keyword}"] if command.keyword else []),
        *(str(checkout / path) for path in command.paths),
    ]


_PASSED_ON = {
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
    *("CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "HF_HOME"),
}


def _environment(core: Path | None) -> dict[str, str]:
    """What a child may see of the environment: no tokens, no options of another pytest."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    search = [path for path in (str(core or ""), os.environ.get("PYTHONPATH", "")) if path]
    if search:
        kept["PYTHONPATH"] = os.pathsep.join(search)
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _child(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path, limit: float
) -> str | None:
    """Run a process and say how it ended, where that was not pytest's own end."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"hung and was ended after {limit:g} seconds"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if code < 0:
        return f"died of signal {-code}"
    return None if code in (0, 1, 5) else f"ended with exit code {code}"


def _events(log: Path) -> Iterator[Event]:
    decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event.__value__)
    if log.exists():
        with log.open("rb") as file:
            for line in file:
                yield decoder.decode(line)


def _broken(events: Sequence[Event], ending: str | None, output: Path) -> str | None:
    """Why a process came to no end, or what it could not collect."""
    uncollected = [event for event in events if isinstance(event, Uncollected)]
    if uncollected:
        return "; ".join(f"{event.path} cannot be collected: {event.message}" for event in uncollected)
    if ending is None and any(isinstance(event, Finished) for event in events):
        return None
    ending = ending or "ended early"
    started = [event.test for event in events if isinstance(event, Started)]
    decided = {event.test for event in events if isinstance(event, Outcome)}
    if started and started[-1] not in decided:
        return f"the process {ending}, in {started[-1]}"
    lines = [line.strip() for line in output.read_text(encoding="utf-8", errors="replace").splitlines()]
    last = next((line.removeprefix("E").strip() for line in reversed(lines) if line), None)
    return f"the process {ending}; its last line: {last}" if last else f"the process {ending}"


def _tests(events: Sequence[Event]) -> Iterator[TestResult]:
    """The selected tests with their last outcome."""
    outcomes = {event.test: event for event in events if isinstance(event, Outcome)}
    for event in events:
        if isinstance(event, Selected):
            outcome = outcomes.get(event.test)
            name = printable(event.test)
            yield (
                TestResult(name, outcome.outcome, printable(outcome.message))
                if outcome
                else TestResult(name, "not run")
            )
