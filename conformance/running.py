"""`packproof run`: starts pytest on the laws and pass targets, in a process that holds the wanted release."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from conformance import baseline, events
from conformance.events import Header, Section
from conformance.overlays import overlay
from conformance.pass_targets import SUITES
from conformance.targets.loading import Description, describe, load, parse
from properties.law import catalogue
from properties.profiles import SELF_CHECK

HERE = Path(__file__).parent

SELF_CHECK_LIMIT = 120
"""Seconds for one law on the reference, whatever a target is given: a busy machine is no fault of the harness."""


@dataclass(frozen=True)
class Plan:
    """What a user asked to run.

    Attributes:
        laws: globs over law ids and keys; empty means all, and the pass targets.
        profile: ``pr``, ``nightly`` or ``deep``.
        jobs: worker processes.
        seed: shifts all draws.
        time_limit: seconds that one law may take before it counts as hanging.
        baseline: file, ``none``, or None for the shipped one.
        case_prefix: begins the file names of cases, so that targets that share a folder keep their own.
    """

    laws: tuple[str, ...] = ()
    profile: str = "pr"
    jobs: int = 2
    seed: int = 0
    time_limit: int = 120
    baseline: str | None = None
    case_prefix: str = ""

    def for_self_check(self) -> Plan:
        """The same laws on the reference, which has no known deviations, with fewer examples."""
        return replace(self, baseline="none", profile=SELF_CHECK, time_limit=SELF_CHECK_LIMIT)


@dataclass
class Measurement:
    """A running measurement of one target."""

    process: subprocess.Popen[bytes]
    log: Path
    output: Path

    def wait(self, progress: Callable[[Section], None] | None = None) -> Section:
        """Wait for the end, telling ``progress`` of every new verdict."""
        while self.process.poll() is None:
            if progress:
                progress(events.read(self.log)[-1])
            time.sleep(0.1)
        return events.read(self.log)[-1]

    def last_words(self) -> str:
        """The end of what pytest printed."""
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-15:])


def start(target: str, description: Description, plan: Plan, log: Path, environment: dict[str, str]) -> Measurement:
    """Write the header and start pytest.

    Args:
        target: target specification.
        description: what the probe found.
        plan: what to run.
        log: event log; a section is appended. Counterexamples go to ``cases`` beside it.
        environment: of the child process.

    Raises:
        BaselineError: the baseline cannot be read.
        OSError: the folder of ``log`` cannot be written.
    """
    known = baseline.resolve(plan.baseline, description.name, description.version)
    log.parent.mkdir(parents=True, exist_ok=True)
    events.append(log, _header(target, description, plan, known))
    output = log.with_name(f"{log.name.removesuffix('events.jsonl')}pytest.log")
    with output.open("wb") as stream:
        process = subprocess.Popen(
            _command(target, plan, log, known), stdout=stream, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    return Measurement(process, log, output)


def environment_of(path: Path | None = None) -> dict[str, str]:
    """Environment of a child: ``path`` first on the import path, no pytest plugin but ours."""
    entries = [*([str(path)] if path else []), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(entries),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",  # two workers with all threads each are slower than one
    }


def _command(target: str, plan: Plan, log: Path, known: baseline.Baseline) -> list[str]:
    suites = [] if plan.laws else ["conformance.pass_targets"]
    return [
        sys.executable, "-P", "-m", "pytest", "-q", "-c", str(HERE / "pytest.ini"), "--rootdir", str(HERE),
        "-p", "xdist", "-p", "pytest_timeout", "-p", "conformance.plugin", "-p", "no:cacheprovider",
        "-n", str(plan.jobs), "--dist", "load", "--max-worker-restart", "3",
        # Loading the target has a limit of its own, in the probe; it must not count against the first law.
        "--timeout", str(plan.time_limit), "-o", "timeout_func_only=true",
        "-o", f"faulthandler_timeout={2 * plan.time_limit}",
        "--target", target, "--baseline", str(known.path or "none"), "--profile", plan.profile,
        "--packproof-seed", str(plan.seed), "--packproof-log", str(log),
        "--packproof-cases", str(log.parent / "cases"), f"--packproof-case-prefix={plan.case_prefix}",
        *(f"--law={glob}" for glob in plan.laws),
        "--pyargs", "properties.laws", *suites,
    ]  # fmt: skip


def _header(target: str, description: Description, plan: Plan, known: baseline.Baseline) -> Header:
    return Header(
        packproof=importlib.metadata.version("packproof"),
        target=target,
        target_version=description.version,
        versions=dict(description.versions),
        imported=description.imported,
        stand_ins=tuple(description.stand_ins),
        operations=tuple(sorted(description.operations)),
        places=dict(description.places),
        defaults=dict(description.defaults),
        policies=dict(description.policies),
        python=events.python_version(),
        platform=platform.platform(),
        profile=plan.profile,
        seed=plan.seed,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        baseline=str(known.path) if known.path else None,
        planned=planned(plan),
    )


def selected(globs: tuple[str, ...]) -> list[str]:
    """Keys of the laws that match; all without globs."""
    return [key for key, law in catalogue().items() if not globs or any(law.matches(glob) for glob in globs)]


def planned(plan: Plan) -> int:
    """Verdicts of a complete run."""
    return len(selected(plan.laws)) + (0 if plan.laws else sum(suite.expected for suite in SUITES))


def describe_here(target: str) -> Description:
    """Describe a target that is safe to load in this process: the reference."""
    return describe(load(target))


def overlay_of(target: str) -> Path | None:
    """Import path of a release that is not the installed one, made when it is missing.

    Raises:
        OverlayError: the release cannot be had.
        TargetError: the specification is malformed.
    """
    specification = parse(target)
    if not specification.version or specification.version == installed_version(specification.kind):
        return None
    return overlay(specification.kind, specification.version)


def installed_version(package: str) -> str | None:
    """Release of an installed package, None when it is missing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
