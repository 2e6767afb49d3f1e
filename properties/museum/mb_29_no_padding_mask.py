"""MB-29: no slot is padding."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import BoolArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-29",
    area="padding / metadata (MoE)",
    suffered="padding was routed to experts and counted in their balance",
    source="Megatron-Bridge #5470, Megatron-LM #6111",
)
class NoPaddingMask(ReferenceImplementation):
    """No slot is called padding."""

    def padding_mask(self, layout: Layout) -> BoolArray:
        return np.zeros_like(super().padding_mask(layout))
