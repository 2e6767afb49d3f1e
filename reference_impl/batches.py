"""Batches and boundaries: what a training step and an attention kernel see.

A packed row with two documents of 3 and 2 tokens, each padded to a multiple of 4:

    slot                0  1  2  3 | 4  5  6  7
    document            a  a  a  . | b  b  .  .
    position_ids        0  1  2  3 | 0  1  2  3
    cu_seqlens          0        3        5        valid tokens, compacted
    cu_seqlens_padded   0          4          8    slots
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.documents import BoolArray, IntArray, PackingMetadata

AnyArray = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Layout:
    """Both boundary arrays of a packed stream of T slots and n segments.

    Attributes:
        valid: (n + 1,) int64, cumulative valid lengths.
        padded: (n + 1,) int64, cumulative slots; equal to ``valid`` when nothing is padded; ``padded[-1] == T``.
    """

    valid: IntArray
    padded: IntArray


@dataclass(frozen=True)
class Parallelism:
    """Sizes of the parallel groups that matter to packing."""

    context: int = 1
    tensor: int = 1
    sequence_parallel: bool = False


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """A right- or left-padded batch of B rows and S columns, before in-batch packing.

    Attributes:
        tokens: (B, S) int64.
        labels: (B, S) int64, already shifted, or None (a stage without loss).
        loss_mask: (B, S) float64, or None.
        position_ids: (B, S) int64.
        padding_mask: (B, S) bool, True where the token is *real*; None means that real tokens must be told from
            ``pad_id``.
    """

    tokens: IntArray
    labels: IntArray | None
    loss_mask: NDArray[np.float64] | None
    position_ids: IntArray
    padding_mask: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class ThdBatch:
    """One packed stream of T slots.

    Attributes:
        tokens, position_ids: (T,) int64.
        labels: (T,) int64 or None.
        loss_mask: (T,) float64 or None.
        layout: boundaries of the stream; for a CP slice, those of the whole stream.
        max_seqlen: longest segment in slots, global (never divided by the CP size).
        raw: the target's own metadata arrays by their own names, untouched, for laws about dtype, sentinel and shape.
    """

    tokens: IntArray
    labels: IntArray | None
    loss_mask: NDArray[np.float64] | None
    position_ids: IntArray
    layout: Layout
    max_seqlen: int
    raw: Mapping[str, AnyArray] = field(default_factory=dict[str, AnyArray])


@dataclass(frozen=True)
class CollateSpec:
    """Settings of the packed dataset and its collation.

    Attributes:
        width: most slots of a row (``packed_sequence_size``).
        pad_to_width: pad every row to ``width`` (``pad_to_max_length``).
        width_multiple: otherwise, pad the longest row of the batch to a multiple of this, at most to ``width``.
        document_multiple: multiple that the stored documents were padded to (``pad_seq_to_mult``); above 1 the batch
            carries both boundary arrays.
        eos_id: token written into the tail of a row.
        answer_only_loss: use the stored loss mask; otherwise every real slot weighs 1, whatever tokens it joins.
        static_boundaries: give boundary arrays one length for all batches (``pad_cu_seqlens``); needs ``metadata``.
        metadata: entries of the metadata file.
        n_samples: length of the epoch mapping (``max_num_samples``); None means the rows themselves.
        seed: decides the epoch mapping.
    """

    width: int
    pad_to_width: bool = True
    width_multiple: int = 1
    document_multiple: int | None = 1
    eos_id: int = 0
    answer_only_loss: bool = True
    static_boundaries: bool = False
    metadata: tuple[PackingMetadata, ...] = ()
    n_samples: int | None = None
    seed: int = 1234


@dataclass(frozen=True, eq=False)
class BoundaryMetadata:
    """Boundaries as a batch carries them to the step, before they become kernel parameters.

    Attributes:
        cu_seqlens: (K,) or (1, K) int32, cumulative slots, perhaps followed by -1 sentinels.
        argmin: number of true entries of ``cu_seqlens``; None when the producer did not say.
        cu_seqlens_unpadded: the same for valid lengths, or None when nothing is padded.
        unpadded_argmin: number of true entries of ``cu_seqlens_unpadded``, or None.
        max_seqlen: longest segment in slots, or None.
        total_tokens: slots of the whole stream, needed for ``seq_idx``; None leaves that out.
    """

    cu_seqlens: NDArray[np.int32]
    argmin: int | None = None
    cu_seqlens_unpadded: NDArray[np.int32] | None = None
    unpadded_argmin: int | None = None
    max_seqlen: int | None = None
    total_tokens: int | None = None


@dataclass(frozen=True, eq=False)
class SequenceParams:
    """What an attention kernel gets (``PackedSeqParams``).

    Attributes:
        cu_seqlens_q, cu_seqlens_kv: (n + 1,) int32, cumulative valid lengths.
        cu_seqlens_q_padded, cu_seqlens_kv_padded: (n + 1,) int32, cumulative slots; None when nothing is padded.
        max_seqlen_q, max_seqlen_kv: longest segment in slots, or None.
        seq_idx: (total_tokens,) int32, segment of each slot, or None.
        qkv_format: always ``"thd"``.
    """

    cu_seqlens_q: AnyArray
    cu_seqlens_kv: AnyArray
    cu_seqlens_q_padded: AnyArray | None
    cu_seqlens_kv_padded: AnyArray | None
    max_seqlen_q: int | None
    max_seqlen_kv: int | None
    seq_idx: AnyArray | None = None
    qkv_format: str = "thd"
