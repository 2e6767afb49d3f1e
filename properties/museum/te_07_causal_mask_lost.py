"""TE-07: the causal mask is lost."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-07",
    area="THD parameters",
    suffered="the model saw what it was to predict",
    source="TransformerEngine #1354",
)
class CausalMaskLost(ReferenceImplementation):
    """The causal mask is lost where it should become the padded kind."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        return super().attention(inputs, layout, world, exchange, False)
