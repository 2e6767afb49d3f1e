"""X-ATT-6: all-to-all attention in rank order."""

from __future__ import annotations

from dataclasses import fields

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ATT-6",
    area="THD, CP",
    suffered="all-to-all attention saw documents in the order of ranks",
    source="own mutation",
)
class StreamInRankOrder(ReferenceImplementation):
    """The all-to-all leaves slots in the order of ranks, and the causal mask follows that."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        right = super().attention(inputs, layout, world, exchange, causal)
        if exchange != Exchange.ALL_TO_ALL or world == 1:
            return right
        order = self.all_to_all_order(layout, world)
        sent = AttentionInputs(*(getattr(inputs, field.name)[order.to_ranks] for field in fields(inputs)))
        result = super().attention(sent, layout, 1, exchange, causal)
        return AttentionResult(*(getattr(result, field.name)[order.to_stream] for field in fields(result)))
