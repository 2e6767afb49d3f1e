"""X-ATT-2: the mask is aligned top left."""

from __future__ import annotations

from unittest.mock import patch

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, Exchange
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-ATT-2",
    area="THD, CP",
    suffered="queries of later chunks saw the first keys of their document only",
    source="own mutation",
)
class AlignedTopLeft(ReferenceImplementation):
    """The causal mask is aligned top left: of more keys than queries, the last ones are hidden."""

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        super().attention(inputs, layout, world, exchange, causal)
        from torch import Tensor  # noqa: PLC0415 - torch is optional

        from reference_impl import attention  # noqa: PLC0415 - as above

        attend = attention.attend

        def top_left(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> attention.Partial:
            seen = q.shape[1] if causal else k.shape[1]
            return attend(q, k[:, :seen], v[:, :seen], causal=causal)

        with patch.object(attention, "attend", top_left):
            return super().attention(inputs, layout, world, exchange, causal)
