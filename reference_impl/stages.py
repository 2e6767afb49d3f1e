"""What every rank of a pipeline-, tensor- and context-parallel grid holds of a packed stream.

Tokens go to the first pipeline stage, labels to the last one, each cut for the context rank. Boundaries go everywhere:
a stage without them attends across documents, and nothing fails (Megatron Bridge issue #2952).

    stage            first     middle    last
    tokens           yes       -         -
    labels, mask     -         -         yes
    boundaries       yes       yes       yes
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference_impl.batches import BoundaryMetadata, SequenceParams, ThdBatch
from reference_impl.context_parallel import slice_batch
from reference_impl.errors import PackingError
from reference_impl.ranks import Grid, Place, PlacedBatch
from reference_impl.thd import sequence_params

SliceBatch = Callable[[ThdBatch, int, int], ThdBatch]
"""The operation ``slice_batch``: batch, world, rank to local batch."""


def place_batch(
    batch: ThdBatch,
    grid: Grid,
    place: Place,
    slice_batch: SliceBatch = slice_batch,
    sequence_params: Callable[[BoundaryMetadata], SequenceParams] = sequence_params,
) -> PlacedBatch:
    """What the rank at ``place`` of ``grid`` holds of ``batch``.

    Args:
        batch: the whole stream.
        grid: sizes of the groups.
        place: the rank.
        slice_batch: the operation of this name.
        sequence_params: the operation of this name.

    Raises:
        PackingError: as ``slice_batch``, or ``place`` lies outside of ``grid``.
    """
    for axis in ("pipeline", "tensor", "context"):
        number, size = int(getattr(place, axis)), int(getattr(grid, axis))
        if not 0 <= number < size:
            raise PackingError(f"place.{axis}", number, f"must be from 0 to {size - 1}")
    part = slice_batch(batch, grid.context, place.context)
    is_first, is_last = place.pipeline == 0, place.pipeline == grid.pipeline - 1
    return PlacedBatch(
        tokens=part.tokens if is_first else None,
        position_ids=part.position_ids if is_first else None,
        labels=part.labels if is_last else None,
        loss_mask=part.loss_mask if is_last else None,
        params=sequence_params(metadata_of(batch)),
    )


def metadata_of(batch: ThdBatch) -> BoundaryMetadata:
    """The boundaries of a stream as a batch carries them to the step."""
    return BoundaryMetadata(
        cu_seqlens=batch.layout.padded.astype(np.int32),
        argmin=len(batch.layout.padded),
        cu_seqlens_unpadded=batch.layout.valid.astype(np.int32),
        unpadded_argmin=len(batch.layout.valid),
        max_seqlen=batch.max_seqlen,
        total_tokens=int(batch.layout.padded[-1]),
    )
