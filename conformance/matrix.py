"""Several targets at once: a process with its own import path for each, as many at a time as there are jobs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance import events, probe, running
from conformance.cases import slug
from conformance.events import Section
from conformance.running import Measurement, Plan
from conformance.targets.loading import Description

Progress = Callable[[str, Section], None]
"""Told of a target and of what is known of it so far."""


@dataclass(frozen=True)
class Prepared:
    """A target that can be measured.

    Attributes:
        target: its specification.
        description: what it is.
        environment: of its process.
    """

    target: str
    description: Description
    environment: dict[str, str]


def prepare(targets: Sequence[str]) -> list[Prepared]:
    """Fetch every release and load every target once, each in a process of its own.

    Raises:
        OverlayError: a release cannot be had.
        TargetError: a target cannot be loaded.
    """
    environments = {target: running.environment_of(running.overlay_of(target)) for target in targets}
    probes = {target: probe.start(target, path) for target, path in environments.items() if target != "reference"}
    described = {target: probe.finish(process, target) for target, process in probes.items()}
    described["reference"] = running.describe_here("reference")
    return [Prepared(target, described[target], environments[target]) for target in targets]


def measure(prepared: Sequence[Prepared], plan: Plan, folder: Path, progress: Progress) -> list[Section]:
    """Measure every target, and gather their logs in ``events.jsonl``, in the order given.

    Args:
        prepared: the targets.
        plan: what to run; its jobs are shared out.
        folder: takes ``NAME.events.jsonl`` for each target, and the cases of all, their names told apart.
        progress: told of every new verdict.
    """
    at_once = min(plan.jobs, len(prepared))
    each = replace(plan, jobs=max(1, plan.jobs // at_once))
    waiting = deque(prepared)
    measurements: dict[str, Measurement] = {}
    while waiting or any(measurement.process.poll() is None for measurement in measurements.values()):
        active = sum(measurement.process.poll() is None for measurement in measurements.values())
        if waiting and active < at_once:
            following = waiting.popleft()
            measurements[following.target] = _start(following, each, folder)
            continue
        for target, measurement in measurements.items():
            progress(target, events.read(measurement.log)[-1])
        time.sleep(0.2)
    sections = [measurements[item.target].wait() for item in prepared]
    whole = b"".join(measurements[item.target].log.read_bytes() for item in prepared)
    (folder / "events.jsonl").write_bytes(whole)
    return sections


def _start(prepared: Prepared, plan: Plan, folder: Path) -> Measurement:
    name = slug(prepared.target)
    log = folder / f"{name}.events.jsonl"
    return running.start(
        prepared.target, prepared.description, replace(plan, case_prefix=f"{name}."), log, prepared.environment
    )
