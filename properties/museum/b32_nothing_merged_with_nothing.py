"""B32: rows without a key are NaN."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import is_padding
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "B32",
    area="THD, CP",
    suffered="rows without a visible key were NaN",
    source="TransformerEngine, read in its code",
)
class NothingMergedWithNothing(ReferenceImplementation):
    """Partial results without a key are merged, and their logarithms are both minus infinity."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        right = super().attention(inputs, layout, world, exchange, causal)
        return replace(right, out=np.where(is_padding(layout)[:, None, None], np.nan, right.out))
