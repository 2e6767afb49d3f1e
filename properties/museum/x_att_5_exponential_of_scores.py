"""X-ATT-5: softmax without the largest score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.oracles import documents
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ATT-5",
    area="attention",
    suffered="large scores ended in NaN",
    source="own mutation",
)
class ExponentialOfScores(ReferenceImplementation):
    """Softmax is computed without taking the largest score away first."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        right = super().attention(inputs, layout, world, exchange, causal)
        out = right.out.copy()
        for own in documents(layout):
            scores = np.einsum(
                "qhd,khd->hqk", inputs.q[own], inputs.k[own].repeat(inputs.q.shape[1] // inputs.k.shape[1], 1)
            )
            with np.errstate(over="ignore", invalid="ignore"):
                sums = np.exp(scores * inputs.q.shape[2] ** -0.5).sum(axis=2).T
                out[own] *= (sums / sums)[..., None]
        return replace(right, out=out)
