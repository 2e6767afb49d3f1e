"""What is run: one frozen row per case. Lengths are small, so that all of it fits a laptop.

    STREAMS["padding between"]     valid  13 | 5 | 16        slots  16 | 8 | 16

All slots are multiples of 8, so that every stream can be cut for CP sizes 1, 2 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
import torch

from gpu_tests.levels import Level
from properties.segments import layout_of
from reference_impl.batches import Layout

Backend = Literal["gloo", "nccl"]
Method = Literal["ring", "all_gather", "all_to_all"]


@dataclass(frozen=True)
class Stream:
    """Segments of a packed stream.

    Attributes:
        lengths: valid tokens of each segment.
        slots: slots of each segment, at least as many.
    """

    lengths: tuple[int, ...]
    slots: tuple[int, ...]


STREAMS = {
    "one document": Stream((16,), (16,)),
    "nothing padded": Stream((8, 24, 16), (8, 24, 16)),
    "padding between": Stream((13, 5, 16), (16, 8, 16)),
    "padding in the tail only": Stream((16, 8, 11), (16, 8, 16)),
    "odd tails": Stream((7, 9, 1, 23), (8, 16, 8, 24)),
    "zero length first": Stream((0, 5, 16), (0, 8, 16)),
    "zero length inside": Stream((8, 0, 0, 9), (8, 0, 0, 16)),
    "zero length last": Stream((8, 9, 0), (8, 16, 0)),
    "no valid token in a slot run": Stream((8, 0, 11), (8, 8, 16)),
    "shorter than two chunks": Stream((1, 2, 3), (8, 8, 8)),
    "many documents": Stream((3, 8, 1, 15, 6, 2, 8, 11), (8, 8, 8, 16, 8, 8, 8, 16)),
    "one long among short": Stream((2, 61, 3), (8, 64, 8)),
    "whole chunks of padding": Stream((8, 4, 16), (16, 8, 16)),
    "aligned": Stream((8, 8, 16, 24, 16, 8), (8, 8, 16, 24, 16, 8)),
}
"""Kinds of streams by name."""

WIDE_STREAM = Stream((13, 40, 5), (16, 48, 16))
"""For CP size 8: slots are multiples of 16."""


@dataclass(frozen=True)
class Case:
    """One row of a table.

    Attributes:
        name: the kind of stream, in words.
        lengths: valid tokens of each segment.
        slots: padded length of each segment.
        heads: attention heads.
        head_size: of each; a multiple of 2, so that RoPE can rotate pairs.
        dtype: name of a floating dtype of torch.
        context: CP size.
        tensor: TP size.
        sequence_parallel: whether the slots between the layers are scattered over the TP ranks.
        backend: of the process group; ``nccl`` needs one CUDA device per rank.
        level: how equal the result has to be.
        causal: mask ``padding_causal``, otherwise ``padding``.
    """

    name: str
    lengths: tuple[int, ...]
    slots: tuple[int, ...]
    heads: int = 4
    head_size: int = 8
    dtype: str = "float32"
    context: int = 1
    tensor: int = 1
    sequence_parallel: bool = False
    backend: Backend = "gloo"
    level: Level = Level.CALIBRATED
    causal: bool = True

    @property
    def layout(self) -> Layout:
        """Both boundary arrays (n + 1,)."""
        return layout_of(self.slots, self.lengths)

    @property
    def ranks(self) -> int:
        """Processes that it needs."""
        return self.context * self.tensor

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype itself."""
        dtype: torch.dtype = getattr(torch, self.dtype)
        return dtype

    @property
    def seed(self) -> int:
        """Of the inputs; the same for all cases of a stream, so that results can be compared between them."""
        return int(np.sum(np.array(self.slots) * np.arange(1, len(self.slots) + 1)))

    def __str__(self) -> str:
        parallel = f"cp{self.context}" + (f"-tp{self.tensor}" if self.tensor > 1 else "")
        mask = "" if self.causal else "-not causal"
        return f"{self.name}-{parallel}{'-sp' if self.sequence_parallel else ''}-{self.dtype}-{self.backend}{mask}"


def case_of(name: str, **fields: object) -> Case:
    """A case on the stream of this name."""
    stream = STREAMS[name]
    return replace(Case(name, stream.lengths, stream.slots), **fields)


def _backends(case: Case) -> list[Case]:
    return [case, replace(case, backend="nccl")]


SLICING = [
    both
    for name, world in product(STREAMS, (1, 2, 4))
    for both in _backends(case_of(name, context=world, level=Level.BITWISE))
] + [Case("wide", WIDE_STREAM.lengths, WIDE_STREAM.slots, context=8, level=Level.BITWISE)]
"""Every stream, cut for 1, 2, 4 and 8 ranks."""

ATTENTION = (
    [both for name, world in product(STREAMS, (2, 4)) for both in _backends(case_of(name, context=world))]
    + [case_of("padding between", context=world, dtype="bfloat16") for world in (2, 4)]
    + [case_of("padding between", context=world, dtype="float64") for world in (2, 4)]
    + [case_of("odd tails", context=world, causal=False) for world in (2, 4)]
    + [Case("wide", WIDE_STREAM.lengths, WIDE_STREAM.slots, heads=8, context=8)]
)
"""Attention over CP ranks, forward and backward."""

SIMULATED = [
    case_of(name, context=world, causal=causal, dtype="float64")
    for name, world, causal in (
        ("odd tails", 2, True),
        ("many documents", 4, True),
        ("zero length inside", 2, False),
        ("no valid token in a slot run", 2, True),
    )
]
"""Attention that one process accounts for and several compute."""

TENSOR_AND_CONTEXT = [
    both
    for name, scattered in product(("nothing padded", "padding between", "zero length inside"), (False, True))
    for both in _backends(case_of(name, context=2, tensor=2, sequence_parallel=scattered))
]
"""A whole attention layer over TP x CP ranks."""

KERNELS = (
    [case_of(name, dtype=dtype) for name, dtype in product(STREAMS, ("float32", "bfloat16"))]
    + [case_of(name, dtype="float16", level=Level.SIMILARITY) for name in ("padding between", "odd tails")]
    + [case_of(name, causal=False) for name in ("padding between", "zero length inside")]
)
"""Attention kernels on one rank."""

TRAINED = ("padding in the tail only", "odd tails", "many documents", "one long among short")
"""Streams to train on: the first document aligned and others not, equal lengths, one that is cut."""

TRAINING = [
    both
    for name, world in product(TRAINED, (1, 2, 4))
    for both in _backends(case_of(name, context=world, dtype="float64"))
]
"""A whole training step under per-token loss."""
