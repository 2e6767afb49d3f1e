"""Running one program on several ranks: in a pool of our own, or in the processes of torchrun."""

from __future__ import annotations

import os
from typing import Any, Protocol

from conformance.machine import here
from gpu_tests.cases import Backend
from gpu_tests.ranks.fabric import Disagreement, Fabric, Group
from gpu_tests.ranks.in_step import InStep
from gpu_tests.ranks.jobs import Program, RankFailure, StartFailure
from gpu_tests.ranks.pool import Pool

__all__ = ["Disagreement", "Fabric", "Group", "Pool", "RankFailure", "Ranks", "Runner", "StartFailure", "open_ranks"]


class Runner(Protocol):
    """Runs a program on several ranks."""

    def run(self, program: Program, *arguments: Any, context: int = 1, tensor: int = 1) -> list[Any]:
        """Results of all ranks, in order."""
        ...

    def close(self) -> None:
        """Give the processes back."""
        ...


class Ranks:
    """One runner per backend, opened when it is first asked for."""

    def __init__(self) -> None:
        self._runners: dict[str, Runner] = {}

    def of(self, backend: Backend) -> Runner:
        """The runner of a backend. Under torchrun it is the one runner there is, whose device chooses the backend."""
        key = "torchrun" if under_torchrun() else backend
        if key not in self._runners:
            self._runners[key] = _open(key)
        return self._runners[key]

    def close(self) -> None:
        """Give all processes back."""
        for runner in self._runners.values():
            runner.close()


def open_ranks() -> Ranks:
    """Ranks of this session; nothing is started yet."""
    return Ranks()


def under_torchrun() -> bool:
    """Whether torchrun started this process as one rank of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _open(key: str) -> Runner:
    if key == "torchrun":
        return InStep()
    if key == "nccl":
        return Pool(len(here().devices), "cuda")
    return Pool(here().ranks)
