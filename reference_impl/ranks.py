"""Plain data of what the ranks of a training job share: rows of tables, losses, samples, places, attention."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reference_impl.batches import SequenceParams
from reference_impl.documents import IntArray

FloatArray = NDArray[np.float64]


class RotaryMode(StrEnum):
    """What a rotary table has rows for."""

    RESTART = "restart"  # positions inside a segment; every segment starts at row 0
    STREAM = "stream"  # slots of the stream; a segment starts at the row of its first slot


class Borders(StrEnum):
    """Where a segment ends when values are shifted inside it."""

    PADDED = "padded"  # behind its last slot
    VALID = "valid"  # behind its last valid token


class Exchange(StrEnum):
    """How CP ranks share attention."""

    RING = "ring"  # keys and values travel around
    ALL_GATHER = "all_gather"  # every rank gathers all keys and values
    ALL_TO_ALL = "all_to_all"  # slots are exchanged for heads, and back


@dataclass(frozen=True, eq=False)
class RankOrder:
    """The two permutations of an all-to-all between slots in stream order and slots rank by rank.

    Attributes:
        to_ranks: (T,) int64; ``stream[to_ranks]`` holds the slots of rank 0, of rank 1, and so on.
        to_stream: (T,) int64; ``by_rank[to_stream]`` is the stream again.
    """

    to_ranks: IntArray
    to_stream: IntArray


@dataclass(frozen=True, eq=False)
class LossPart:
    """Losses of one micro batch on one rank.

    Attributes:
        losses: (t,) float64, loss of every slot; anything, also NaN, where ``weights`` is 0.
        weights: (t,) float64, 0 or 1.
    """

    losses: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class ReducedLoss:
    """What is made of the losses of all micro batches on all ranks of the data- and context-parallel group.

    Attributes:
        loss: mean loss of the trained tokens, 0 when there is none.
        tokens: number of trained tokens.
        scales: (parts,) float64; the gradient of the objective is the sum of those of the parts' *summed* losses, each
            times its scale.
    """

    loss: float
    tokens: int
    scales: FloatArray


@dataclass(frozen=True)
class Assignment:
    """One sample on the ranks that share it.

    Attributes:
        sample: index of the sample.
        ranks: ranks of its CP group, ascending; their number is its CP size.
        slots: length of the sample when it is padded for that CP size.
    """

    sample: int
    ranks: tuple[int, ...]
    slots: int


Group = tuple[Assignment, ...]
"""What all ranks do at one time."""


@dataclass(frozen=True)
class Grid:
    """Sizes of the pipeline-, tensor- and context-parallel groups."""

    pipeline: int = 1
    tensor: int = 1
    context: int = 1


@dataclass(frozen=True)
class Place:
    """One rank of a grid by its number in each group."""

    pipeline: int = 0
    tensor: int = 0
    context: int = 0


@dataclass(frozen=True, eq=False)
class PlacedBatch:
    """What one rank of a grid holds of a packed stream.

    Attributes:
        tokens: (T / W,) int64 on the first pipeline stage, else None.
        position_ids: (T / W,) int64 on the first pipeline stage, else None.
        labels: (T / W,) int64 on the last pipeline stage, else None.
        loss_mask: (T / W,) float64 on the last pipeline stage, else None.
        params: what attention and recurrent layers need, global and the same everywhere.
    """

    tokens: IntArray | None
    position_ids: IntArray | None
    labels: IntArray | None
    loss_mask: FloatArray | None
    params: SequenceParams | None


@dataclass(frozen=True, eq=False)
class AttentionInputs:
    """Queries, keys and values of a stream, and the gradient that comes back to the outputs.

    Attributes:
        q: (T, H, D) float64.
        k: (T, G, D) float64, H divisible by G.
        v: (T, G, E) float64.
        grad_out: (T, H, E) float64.
    """

    q: FloatArray
    k: FloatArray
    v: FloatArray
    grad_out: FloatArray


@dataclass(frozen=True, eq=False)
class AttentionResult:
    """Outputs and gradients, with the shapes of ``AttentionInputs``; 0 at padding."""

    out: FloatArray
    grad_q: FloatArray
    grad_k: FloatArray
    grad_v: FloatArray


@dataclass(frozen=True, eq=False)
class RecurrenceInputs:
    """Inputs of a recurrent layer over a stream, and the gradient that comes back to the outputs.

    Attributes:
        values: (T, C) float64 for C channels.
        decays: (T, C) float64, how much of the state each slot keeps, from 0 to 1; or (K, C), the taps of a short
            convolution, the first for the slot itself.
        grad_out: (T, C) float64.
    """

    values: FloatArray
    decays: FloatArray
    grad_out: FloatArray


@dataclass(frozen=True, eq=False)
class RecurrenceResult:
    """Outputs (T, C), and gradients with the shapes of ``RecurrenceInputs``."""

    out: FloatArray
    grad_values: FloatArray
    grad_decays: FloatArray
