"""TE-08: padding slots hold whatever was in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "TE-08",
    area="attention",
    suffered="a sum over the stream became NaN, and a loss mask did not help, since zero times NaN is NaN",
    source="TransformerEngine PR #1009",
)
class PaddingUninitialised(ReferenceImplementation):
    """Outputs at padding slots are not written."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        right = super().attention(inputs, layout, world, exchange, causal)
        out = right.out.copy()
        out[self.padding_mask(layout)] = np.nan
        return replace(right, out=out)
