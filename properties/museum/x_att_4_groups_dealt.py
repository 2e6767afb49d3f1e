"""X-ATT-4: query heads are dealt to key heads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ATT-4",
    area="attention",
    suffered="grouped-query models attended with the keys of another group",
    source="own mutation",
)
class GroupsDealt(ReferenceImplementation):
    """Query head h reads key head h modulo the number of key heads."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        keys = inputs.k.shape[1]
        order = np.array(sorted(range(inputs.q.shape[1]), key=lambda head: head % keys))
        back = np.argsort(order)
        dealt = replace(inputs, q=inputs.q[:, order], grad_out=inputs.grad_out[:, order])
        result = super().attention(dealt, layout, world, exchange, causal)
        return replace(result, out=result.out[:, back], grad_q=result.grad_q[:, back])
