"""One run of a program on several ranks, as it travels between processes."""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from gpu_tests.ranks.fabric import Disagreement, Mesh
from reference_impl.errors import NotSupported

Program = Callable[..., Any]
"""Called on every rank as ``program(fabric, *arguments)``; a function of a module, so that it can be sent by name."""


class RankFailure(AssertionError):
    """A program failed on some rank, or some rank did not answer; holds the last lines of every rank."""


class StartFailure(Exception):
    """The processes did not come up, so that nothing was measured."""


@dataclass(frozen=True)
class Job:
    """A program to run.

    Attributes:
        program: the program.
        arguments: what it is called with, after the fabric.
        context: CP size.
        tensor: TP size.
    """

    program: Program
    arguments: tuple[Any, ...]
    context: int
    tensor: int


@dataclass(frozen=True)
class Answer:
    """What became of a job on one rank.

    Attributes:
        result: what the program returned; None where it failed or the rank had no part in it.
        error: the traceback, or None.
        unsupported: the message, where the target lacks an operation.
        in_step: whether all ranks are at the same place in their communication, so that they can go on.
    """

    result: Any = None
    error: str | None = None
    unsupported: str | None = None
    in_step: bool = True


def run(job: Job, mesh: Mesh) -> Answer:
    """Run a job on this rank; never raises an ``Exception``."""
    try:
        fabric = mesh.fabric(job.context, job.tensor)
        return Answer(None if fabric is None else on_cpu(job.program(fabric, *job.arguments)))
    except NotSupported as error:
        return Answer(unsupported=str(error))  # of a target, hence on all ranks at the same place
    except Disagreement as error:
        return Answer(error=f"Disagreement: {error}")
    except Exception:
        return Answer(error=traceback.format_exc(), in_step=False)


def on_cpu(result: Any) -> Any:
    """The result with its tensors detached and on the CPU, so that another process can read them."""
    if isinstance(result, torch.Tensor):
        return result.detach().cpu().clone()
    if isinstance(result, dict):
        return {name: on_cpu(value) for name, value in result.items()}
    if isinstance(result, list | tuple):
        return type(result)(on_cpu(value) for value in result)
    return result


def encode(message: object) -> bytes:
    """Bytes of a message.

    In torch's own format: what its reducers for other processes share would die with the process, and software under
    test (Megatron-Core does) may have patched the way in which tensors are pickled.
    """
    file = io.BytesIO()
    torch.save(message, file)
    return file.getvalue()


def decode(message: bytes) -> Any:
    """The message of ``encode``."""
    return torch.load(io.BytesIO(message), weights_only=False)  # from our own processes


def backend_of(device: torch.device) -> str:
    """Collectives of each kind of device; the CPU's are there in any case, for objects."""
    return "cpu:gloo,cuda:nccl" if device.type == "cuda" and dist.is_nccl_available() else "gloo"
