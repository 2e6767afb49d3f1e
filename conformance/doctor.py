"""What this machine can run, and what is missing for the rest."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from conformance.machine import Machine, Needs, missing
from conformance.suites import SUITES
from conformance.targets.loading import BRIDGE, KNOWN


@dataclass(frozen=True)
class Finding:
    """One thing that could be run.

    Attributes:
        kind: a target of ``packproof run``, or a suite of ``gpu_tests``.
        name: a target as one types it, or the name of a suite.
        shows: what it is for.
        file: where the tests of a suite are, None for a target.
        missing: what it lacks here, one phrase each; empty when it runs.
    """

    kind: Literal["target", "suite"]
    name: str
    shows: str
    missing: tuple[str, ...]
    file: str | None = None


def examine(machine: Machine) -> tuple[Finding, ...]:
    """Every target and every suite, in the order of their catalogues."""
    return (*_targets(machine), *_suites(machine))


def _targets(machine: Machine) -> Iterator[Finding]:
    for name, shows in KNOWN.items():
        yield Finding("target", name, shows, _missing_for(name, machine))


def _missing_for(target: str, machine: Machine) -> tuple[str, ...]:
    if target == BRIDGE:
        return missing(Needs(packages=("torch", "megatron.core", "megatron.bridge")), machine)
    if target.startswith("recording:"):
        return missing(Needs(packages=("safetensors",)), machine)
    if target.startswith(f"{BRIDGE}=="):
        lacks = missing(Needs(packages=("torch",)), machine)
        return lacks if shutil.which("uv") else (*lacks, "program uv, which fetches releases")
    if target.startswith(f"{BRIDGE}@"):
        return missing(Needs(packages=("torch", "megatron.core")), machine)
    return ()


def _suites(machine: Machine) -> Iterator[Finding]:
    """Suites of a checkout; an installed packproof comes without them."""
    absent = () if importlib.util.find_spec("gpu_tests") else ("a checkout of packproof, which holds gpu_tests",)
    for suite in SUITES.values():
        lacks = (*absent, *missing(suite.needs, machine))
        yield Finding("suite", suite.name, suite.shows, lacks, f"gpu_tests/{suite.file}")
