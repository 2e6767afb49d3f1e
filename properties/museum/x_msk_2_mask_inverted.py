"""X-MSK-2: the mask is True for tokens."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import BoolArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MSK-2",
    area="padding / metadata (MoE)",
    suffered="tokens were skipped and padding was routed",
    source="own mutation",
)
class MaskInverted(ReferenceImplementation):
    """The mask follows the convention of attention masks: True for real tokens."""

    def padding_mask(self, layout: Layout) -> BoolArray:
        return ~super().padding_mask(layout)
