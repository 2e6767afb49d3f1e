"""MB-30: the stream is one document."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import layout_of, total_slots
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-30",
    area="metadata, model opt-out",
    suffered="one optimisation flag made all documents of a pack attend to each other",
    source="Megatron-Bridge #5470",
)
class OneBlock(ReferenceImplementation):
    """Attention gets no boundaries: the stream is one document."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        super().attention(inputs, layout, world, exchange, causal)
        return super().attention(inputs, layout_of([total_slots(layout)]), world, exchange, causal)
