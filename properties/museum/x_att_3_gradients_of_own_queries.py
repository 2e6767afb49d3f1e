"""X-ATT-3: gradients of keys are not summed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ATT-3",
    area="THD, CP",
    suffered="keys were trained by the queries of one rank only",
    source="own mutation",
)
class GradientsOfOwnQueries(ReferenceImplementation):
    """Gradients of keys and values are not summed over ranks: each rank keeps those of its own queries."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        right = super().attention(inputs, layout, world, exchange, causal)
        grad_k, grad_v = np.zeros_like(right.grad_k), np.zeros_like(right.grad_v)
        for rank in range(world):
            slots = self.partition(layout, world, rank)
            own = np.zeros_like(inputs.grad_out)
            own[slots] = inputs.grad_out[slots]
            result = super().attention(replace(inputs, grad_out=own), layout, world, exchange, causal)
            grad_k[slots], grad_v[slots] = result.grad_k[slots], result.grad_v[slots]
        return replace(right, grad_k=grad_k, grad_v=grad_v)
