"""What a machine has, and what a suite lacks on it. Shared by ``packproof doctor`` and the skips of ``gpu_tests``."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

PROBED = ("torch", "megatron.core", "megatron.bridge", "transformer_engine", "transformer_engine_torch", "flash_attn",
          "mamba_ssm", "causal_conv1d", "safetensors")  # fmt: skip
"""Packages that a suite may need, by import name."""

DISTRIBUTIONS: Mapping[str, str] = {
    "megatron.core": "megatron-core",
    "megatron.bridge": "megatron-bridge",
    "transformer_engine": "transformer-engine",
    "transformer_engine_torch": "transformer-engine-torch",
    "flash_attn": "flash-attn",
    "mamba_ssm": "mamba-ssm",
    "causal_conv1d": "causal-conv1d",
}
"""Names to install, where they differ from the import name."""

NEED_CUDA_LIBRARIES = frozenset(
    {"transformer_engine", "transformer_engine_torch", "flash_attn", "mamba_ssm", "causal_conv1d"}
)
"""Packages whose import fails without CUDA although they are installed: these are really imported to know."""

RANKS = "PACKPROOF_RANKS"
"""Environment variable: processes of the worker pool on CPU."""

DEFAULT_RANKS = 4
"""Enough for CP 4 and TP 2 x CP 2, and as many as a small CI machine starts in seconds."""


@dataclass(frozen=True)
class Device:
    """One CUDA device.

    Attributes:
        name: as the driver calls it.
        gib: memory in GiB.
        capability: compute capability, such as (9, 0).
    """

    name: str
    gib: float
    capability: tuple[int, int]


@dataclass(frozen=True)
class Machine:
    """What was found.

    Attributes:
        devices: CUDA devices.
        ranks: processes that a many-rank suite can have over gloo.
        packages: version of each usable package by import name.
        unusable: why each other probed package cannot be used, by import name.
    """

    devices: tuple[Device, ...] = ()
    ranks: int = DEFAULT_RANKS
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    unusable: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Needs:
    """What a suite needs.

    Attributes:
        devices: CUDA devices.
        gib: memory of the first CUDA device in GiB.
        ranks: processes.
        packages: import names.
    """

    devices: int = 0
    gib: float = 0.0
    ranks: int = 1
    packages: tuple[str, ...] = ()


def missing(needs: Needs, machine: Machine) -> tuple[str, ...]:
    """What a machine lacks, one phrase each; empty when it lacks nothing."""
    lacks: list[str] = []
    if len(machine.devices) < needs.devices:
        lacks.append(f"{needs.devices} CUDA device(s), here are {len(machine.devices)}")
    elif needs.gib and machine.devices[0].gib < needs.gib:
        lacks.append(f"a CUDA device of {needs.gib:g} GiB, here are {machine.devices[0].gib:.0f}")
    if machine.ranks < needs.ranks:
        lacks.append(f"{needs.ranks} ranks, here are {machine.ranks} ({RANKS} sets how many)")
    lacks += [_lacks(name, machine) for name in needs.packages if name not in machine.packages]
    return tuple(lacks)


@cache
def here() -> Machine:
    """This machine. Imports of packages that need CUDA libraries are tried once."""
    packages: dict[str, str] = {}
    unusable: dict[str, str] = {}
    for name in PROBED:
        why = _why_not(name)
        if why is None:
            packages[name] = _version(name)
        else:
            unusable[name] = why
    return Machine(_devices(), _ranks(), packages, unusable)


def _lacks(name: str, machine: Machine) -> str:
    distribution = DISTRIBUTIONS.get(name, name)
    return f"package {distribution} ({machine.unusable.get(name, 'not installed')})"


def _why_not(name: str) -> str | None:
    try:
        if importlib.util.find_spec(name) is None:
            return "not installed"
        if name in NEED_CUDA_LIBRARIES:
            importlib.import_module(name)
    except ModuleNotFoundError:
        return "not installed"
    except Exception as error:
        return f"installed, but not importable: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return None


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _devices() -> tuple[Device, ...]:
    if importlib.util.find_spec("torch") is None:
        return ()
    cuda: Any = importlib.import_module("torch").cuda
    found: list[Device] = []
    for index in range(cuda.device_count() if cuda.is_available() else 0):
        properties = cuda.get_device_properties(index)
        capability = (int(properties.major), int(properties.minor))
        found.append(Device(str(properties.name), float(properties.total_memory) / 2**30, capability))
    return tuple(found)


def _ranks() -> int:
    """Ranks of torchrun, else what the environment asks for."""
    chosen = os.environ.get("WORLD_SIZE") or os.environ.get(RANKS)
    return int(chosen) if chosen and chosen.isdigit() else DEFAULT_RANKS
