"""TE-09: two streams race."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-09",
    area="THD, CP",
    suffered="the same inputs gave different outputs",
    source="TransformerEngine #1624",
)
class TwoStreamsRace(ReferenceImplementation):
    """One stream corrects what another one still writes: every other call differs in its last bits."""

    calls = 0

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        self.calls += 1
        right = super().attention(inputs, layout, world, exchange, causal)
        return right if self.calls % 2 else replace(right, out=right.out * (1 + 1e-15))
