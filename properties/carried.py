"""What a batch carries for kernels, by meaning: every trainer has its own names for the two kinds of boundaries.

Megatron Bridge up to 0.5 calls slots ``cu_seqlens`` and valid lengths ``cu_seqlens_unpadded``; from 0.6 on they are
``cu_seqlens_q_padded`` and ``cu_seqlens_q``, as in TransformerEngine, and one of a kind where nothing is padded.
"""

from __future__ import annotations

import numpy as np

from properties.claims import holds, same
from properties.segments import true_entries
from reference_impl.batches import AnyArray, ThdBatch
from reference_impl.documents import IntArray
from reference_impl.errors import NotSupported

VALID = ("cu_seqlens_unpadded", "cu_seqlens_q", "cu_seqlens_kv")
SLOTS = ("cu_seqlens_padded", "cu_seqlens_q_padded", "cu_seqlens_kv_padded")
LONGEST = ("max_seqlen", "max_seqlen_q", "max_seqlen_kv")


def carries_its_segments(batch: ThdBatch) -> None:
    """Claim that the boundaries that a batch carries, cut at their sentinels, are those of its segments.

    Further entries may repeat the last one, in every array alike: segments without a slot change nothing.

    Raises:
        NotSupported: the batch carries no boundaries.
    """
    carried = _boundaries(batch)
    for name, array, boundaries in carried:
        entries = true_entries(array)
        same(entries[: boundaries.size], boundaries, f"{name} begins with the boundaries of the segments")
        rest = entries[boundaries.size :]
        holds((rest == boundaries[-1]).all(), f"further entries of {name} repeat the last boundary", got=entries)
    numbers = {name: true_entries(array).size for name, array, _ in carried}
    holds(len(set(numbers.values())) == 1, "all boundaries that a batch carries are equally many", got=numbers)


def carries_its_longest_segment(batch: ThdBatch) -> None:
    """Claim that every ``max_seqlen`` that a batch carries is the longest of its segments in slots.

    Raises:
        NotSupported: the batch carries none.
    """
    names = [name for name in LONGEST if name in batch.raw]
    if not names:
        raise NotSupported("batches carry no max_seqlen beside their own")
    longest = np.diff(batch.layout.padded).max(initial=0)
    for name in names:
        same(np.ravel(batch.raw[name]), np.array([longest]), f"{name} is the longest segment in slots")


def carries_boundaries_of_32_bits(batch: ThdBatch) -> None:
    """Claim that boundaries that go to kernels as they are hold 32-bit numbers.

    Raises:
        NotSupported: the batch carries no boundaries.
    """
    for name, array, _ in _boundaries(batch):
        same(array.dtype, np.dtype(np.int32), f"{name} is int32")


def _boundaries(batch: ThdBatch) -> list[tuple[str, AnyArray, IntArray]]:
    """Boundaries that a batch carries: name, entries, and the boundaries of its layout that they stand for.

    Raises:
        NotSupported: it carries none.
    """
    bare_is_valid = "cu_seqlens_padded" in batch.raw
    valid = (*VALID, "cu_seqlens") if bare_is_valid else VALID
    slots = SLOTS if bare_is_valid else (*SLOTS, "cu_seqlens")
    carried = [
        (name, batch.raw[name], boundaries)
        for names, boundaries in ((slots, batch.layout.padded), (valid, batch.layout.valid))
        for name in names
        if name in batch.raw
    ]
    if not carried:
        raise NotSupported("batches carry no boundaries beside their layout")
    return carried
