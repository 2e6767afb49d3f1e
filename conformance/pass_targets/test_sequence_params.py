"""Eight pass targets: boundaries of a packed batch become kernel parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reference_impl.batches import AnyArray, BoundaryMetadata
from reference_impl.interface import Implementation

SLOTS = (0, 96, 160, 256)
"""Three documents of 96, 64 and 96 slots."""

VALID = (0, 90, 150, 245)
"""The same documents with 90, 60 and 95 valid tokens."""


def boundaries(entries: Sequence[int], sentinels: int = 0) -> NDArray[np.int32]:
    """A boundary array as batches carry it: int32, filled up with -1."""
    return np.array([*entries, *[-1] * sentinels], dtype=np.int32)


def entries(array: AnyArray | None) -> list[int] | None:
    """An array as a list, None as None."""
    return None if array is None else [int(entry) for entry in np.asarray(array)]


def test_boundaries_are_cut_at_the_count_that_comes_with_them(implementation: Implementation) -> None:
    """Queries and keys get the counted entries, the longest segment passes through, and the format is THD."""
    params = implementation.sequence_params(
        BoundaryMetadata(cu_seqlens=boundaries(SLOTS, sentinels=3), argmin=len(SLOTS), max_seqlen=96)
    )
    assert entries(params.cu_seqlens_q) == list(SLOTS)
    assert entries(params.cu_seqlens_kv) == list(SLOTS)
    assert params.cu_seqlens_q_padded is None
    assert params.cu_seqlens_kv_padded is None
    assert params.max_seqlen_q == params.max_seqlen_kv == 96
    assert params.qkv_format == "thd"


def test_valid_lengths_go_beside_the_slots(implementation: Implementation) -> None:
    """When documents are padded, the plain arrays hold valid lengths and the padded arrays slots."""
    params = implementation.sequence_params(
        BoundaryMetadata(
            cu_seqlens=boundaries(SLOTS, sentinels=2),
            argmin=len(SLOTS),
            cu_seqlens_unpadded=boundaries(VALID, sentinels=1),
            unpadded_argmin=len(VALID),
            max_seqlen=96,
        )
    )
    assert entries(params.cu_seqlens_q) == list(VALID)
    assert entries(params.cu_seqlens_kv) == list(VALID)
    assert entries(params.cu_seqlens_q_padded) == list(SLOTS)
    assert entries(params.cu_seqlens_kv_padded) == list(SLOTS)


def test_without_a_count_the_first_sentinel_ends_the_boundaries(implementation: Implementation) -> None:
    """Entries from the first -1 on are no boundaries."""
    params = implementation.sequence_params(BoundaryMetadata(cu_seqlens=boundaries(SLOTS, sentinels=2), max_seqlen=96))
    assert entries(params.cu_seqlens_q) == list(SLOTS)
    assert entries(params.cu_seqlens_kv) == list(SLOTS)


def test_the_micro_batch_dimension_is_dropped(implementation: Implementation) -> None:
    """Boundaries of shape (1, K), as collation makes them, give flat kernel parameters."""
    params = implementation.sequence_params(
        BoundaryMetadata(cu_seqlens=boundaries(SLOTS, sentinels=1)[np.newaxis], argmin=len(SLOTS), max_seqlen=96)
    )
    assert np.ndim(params.cu_seqlens_q) == 1
    assert entries(params.cu_seqlens_q) == list(SLOTS)
    assert params.max_seqlen_q == 96


def test_an_unknown_longest_segment_stays_unknown(implementation: Implementation) -> None:
    """Without ``max_seqlen`` in the batch there is none in the parameters."""
    params = implementation.sequence_params(
        BoundaryMetadata(cu_seqlens=boundaries(SLOTS, sentinels=1), argmin=len(SLOTS))
    )
    assert params.max_seqlen_q is None
    assert params.max_seqlen_kv is None


def test_without_a_count_valid_lengths_end_at_their_own_sentinel(implementation: Implementation) -> None:
    """Slots and valid lengths are cut each on their own."""
    params = implementation.sequence_params(
        BoundaryMetadata(
            cu_seqlens=boundaries(SLOTS, sentinels=2),
            argmin=len(SLOTS),
            cu_seqlens_unpadded=boundaries(VALID, sentinels=4),
            max_seqlen=96,
        )
    )
    assert entries(params.cu_seqlens_q) == list(VALID)
    assert entries(params.cu_seqlens_q_padded) == list(SLOTS)


def test_one_document_may_fill_the_pack(implementation: Implementation) -> None:
    """A pack of one document has two boundaries and no padded arrays."""
    params = implementation.sequence_params(
        BoundaryMetadata(cu_seqlens=boundaries((0, 768), sentinels=1), argmin=2, max_seqlen=768)
    )
    assert entries(params.cu_seqlens_q) == [0, 768]
    assert entries(params.cu_seqlens_kv) == [0, 768]
    assert params.cu_seqlens_q_padded is None


def test_unpadded_packs_take_the_fast_kernel(implementation: Implementation) -> None:
    """Where no document is padded, padded arrays are left out: kernels are slower with them."""
    every_eighty = tuple(range(0, 801, 80))
    params = implementation.sequence_params(
        BoundaryMetadata(cu_seqlens=boundaries(every_eighty, sentinels=1), argmin=len(every_eighty), max_seqlen=80)
    )
    assert entries(params.cu_seqlens_q) == entries(params.cu_seqlens_kv) == list(every_eighty)
    assert params.cu_seqlens_q_padded is None
    assert params.cu_seqlens_kv_padded is None
