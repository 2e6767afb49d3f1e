"""MB-07: metadata is cut like tokens."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import Layout, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-07",
    area="CP slicing / collate",
    suffered="metadata that has no slots was cut like tokens, and the run crashed",
    source="Megatron-Bridge #4354, #4519",
)
class MetadataSliced(ReferenceImplementation):
    """Every array of the batch is cut by the index of the slots, boundaries included."""

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        slots = self.partition(batch.layout, world, rank)
        layout = Layout(batch.layout.valid[slots], batch.layout.padded[slots])
        return replace(super().slice_batch(batch, world, rank), layout=layout)
