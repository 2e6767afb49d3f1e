"""ML-26: values are widened to the heads of the queries, and the outputs stay so wide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-26",
    area="attention",
    suffered="models with latent attention had no kernel for packed streams, or outputs of another width",
    source="Megatron-LM PR #3003",
)
class ValuesNotTrimmed(ReferenceImplementation):
    """Values get zeros up to the head size of the queries, and nothing cuts the outputs back."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        right = super().attention(inputs, layout, world, exchange, causal)
        wider = inputs.q.shape[2] - inputs.v.shape[2]
        return replace(right, out=np.pad(right.out, ((0, 0), (0, 0), (0, wider))))
