"""MB-44: all are padded when the first needs it."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-44",
    area="padding (CP)",
    suffered="contexts were left unaligned where the first part was aligned",
    source="Megatron-Bridge #4858",
)
class PaddedForTheFirst(ReferenceImplementation):
    """Segments are padded only where the first one needs padding."""

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        return super().pad_layout(lengths, multiple if multiple < 1 or lengths[0] % multiple else 1)
