"""MB-01: chunk bounds of slots applied to valid tokens."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import slots_per_segment, valid_per_segment
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-01",
    area="CP slicing / in-batch pack",
    suffered="ranks whose chunk of a short document holds only padding crashed",
    source="Megatron-Bridge #5614",
)
class FirstChunkOfValid(ReferenceImplementation):
    """The first chunk is cut by slots out of the valid tokens; where these end before it, there is nothing to copy."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        part = super().slice_batch(batch, world, rank)
        chunks = slots_per_segment(batch.layout) // (2 * world)
        for chunk, valid in zip(chunks, valid_per_segment(batch.layout), strict=True):
            copied = len(range(rank * chunk, min((rank + 1) * chunk, valid)))
            if world > 1 and copied < chunk:
                raise RuntimeError(f"expanded size {chunk} must match the existing size {copied}")
        return part
