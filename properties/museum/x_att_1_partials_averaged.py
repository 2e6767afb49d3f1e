"""X-ATT-1: partial results are averaged."""

from __future__ import annotations

from unittest.mock import patch

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ATT-1",
    area="THD, CP",
    suffered="attention over several ranks gave something else than over one",
    source="own mutation",
)
class PartialsAveraged(ReferenceImplementation):
    """Partial results of the ring are averaged, without their sums."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        super().attention(inputs, layout, world, exchange, causal)
        from reference_impl import attention  # noqa: PLC0415 - torch is optional

        merge = attention.merge

        def average(one: attention.Partial, other: attention.Partial) -> attention.Partial:
            return attention.Partial((one.out_HQE + other.out_HQE) / 2, merge(one, other).lse_HQ)

        with patch.object(attention, "merge", average):
            return super().attention(inputs, layout, world, exchange, causal)
