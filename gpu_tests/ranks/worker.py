"""One rank of the pool: waits for jobs until it is told to stop."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import torch
import torch.distributed as dist

from gpu_tests.ranks import jobs
from gpu_tests.ranks.fabric import Mesh

LONGEST_WAIT = timedelta(seconds=120)
"""Of a collective. The pool ends a job much earlier; this ends workers whose parent was killed."""


def serve(rank: int, world: int, device: str, rendezvous: Path, log: Path, connection: Connection) -> None:
    """Run jobs from ``connection``, in order, until the parent closes it or sends nothing more to do."""
    _write_to(log)
    faulthandler.register(signal.SIGUSR1, all_threads=False)  # the pool asks a hanging rank where it is
    torch.set_num_threads(1)  # several ranks share the cores
    own = torch.device(device, rank) if device == "cuda" else torch.device(device)
    if own.type == "cuda":
        torch.cuda.set_device(own)
    dist.init_process_group(
        jobs.backend_of(own), init_method=f"file://{rendezvous}", rank=rank, world_size=world, timeout=LONGEST_WAIT
    )
    mesh = Mesh(rank, world, own)
    connection.send_bytes(jobs.encode("ready"))
    while True:
        try:
            job = jobs.decode(connection.recv_bytes())
        except EOFError:
            break
        answer = jobs.run(job, mesh)
        if answer.error:
            sys.stderr.write(answer.error)
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send_bytes(jobs.encode(answer))


def _write_to(log: Path) -> None:
    """Send everything that this process writes, native code included, to a file."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
