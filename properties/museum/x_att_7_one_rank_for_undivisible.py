"""X-ATT-7: undivisible segments are computed on one rank."""

from __future__ import annotations

from properties.museum.bug import bug
from properties.segments import slots_per_segment
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ATT-7",
    area="THD, CP",
    suffered="segments that could not be cut were computed whole on every rank, and summed",
    source="own mutation",
)
class OneRankForUndivisible(ReferenceImplementation):
    """Segments that cannot be cut are computed on one rank, without a word."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        divisible = not (slots_per_segment(layout) % (2 * world)).any()
        return super().attention(inputs, layout, world if divisible else 1, exchange, causal)
