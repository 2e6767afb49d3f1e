"""B31: slots are passed as valid lengths."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "B31",
    area="THD parameters",
    suffered="tokens attended to padding where there was no causal mask, and padding got outputs",
    source="Megatron-LM #4103",
)
class PaddingAttendedTo(ReferenceImplementation):
    """Slots are passed where valid lengths belong."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        slots = Layout(valid=layout.padded, padded=layout.padded)
        return super().attention(inputs, slots, world, exchange, causal)
