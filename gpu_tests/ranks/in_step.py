"""The ranks of torchrun: every rank is a pytest of its own, and all come to the same case at the same time.

    torchrun --nproc-per-node 4 -m pytest gpu_tests

Answers go through the key-value store that the ranks met at, not through collectives: these are what a case may break.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, TCPStore  # pyright: ignore[reportPrivateImportUsage]  (documented)

from gpu_tests.ranks import jobs
from gpu_tests.ranks.fabric import Mesh
from gpu_tests.ranks.jobs import Answer, Job, Program, RankFailure
from reference_impl.errors import NotSupported

CASE_LIMIT = timedelta(seconds=60)
"""For one case, and for slower ranks to come to it."""


class InStep:
    """Runs programs on this rank, in step with the others, and gives every rank the results of all."""

    def __init__(self) -> None:
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        local = int(os.environ.get("LOCAL_RANK", self.rank))
        has_device = torch.cuda.is_available() and torch.cuda.device_count() > local
        self.device = torch.device("cuda", local) if has_device else torch.device("cpu")
        if has_device:
            torch.cuda.set_device(self.device)
        else:
            torch.set_num_threads(1)
        master = TCPStore(
            os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), self.world, is_master=False, timeout=CASE_LIMIT
        )
        self._store = PrefixStore("packproof", master)
        self._cases = 0
        self._mesh: Mesh | None = None

    def run(self, program: Program, *arguments: Any, context: int = 1, tensor: int = 1) -> list[Any]:
        """As ``Pool.run``, on every rank."""
        if self._mesh is None:
            self._mesh = self._meet()
        answer = jobs.run(Job(program, arguments, context, tensor), self._mesh)
        answers = self._exchange(answer)
        if not all(other.in_step for other in answers):
            self.close()
        unsupported = [other.unsupported for other in answers if other.unsupported]
        if unsupported:
            raise NotSupported(unsupported[0])
        if any(other.error for other in answers):
            words = [f"--- rank {rank}\n{other.error or 'done'}" for rank, other in enumerate(answers)]
            raise RankFailure("\n".join([f"{program.__name__} failed on {self.world} ranks", *words]))
        return [other.result for other in answers][: context * tensor]

    def close(self) -> None:
        """Leave the process group."""
        if self._mesh is not None:
            dist.destroy_process_group()
            self._mesh = None

    def _meet(self) -> Mesh:
        """Join a process group of this moment's own, so that one that a case broke does no harm."""
        store = PrefixStore(f"group-{self._cases}", self._store)
        dist.init_process_group(
            jobs.backend_of(self.device), store=store, rank=self.rank, world_size=self.world, timeout=CASE_LIMIT
        )
        return Mesh(self.rank, self.world, self.device)

    def _exchange(self, answer: Answer) -> list[Answer]:
        self._cases += 1
        self._store.set(f"answer-{self._cases}-{self.rank}", jobs.encode(answer))  # pyright: ignore[reportArgumentType]  (bytes will do)
        return [jobs.decode(self._store.get(f"answer-{self._cases}-{rank}")) for rank in range(self.world)]
