"""X-PCK-13: the ledger counts no padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-13",
    area="packing stats",
    suffered="slots that were spent on alignment showed nowhere",
    source="own mutation",
)
class PaddingUncounted(ReferenceImplementation):
    """The ledger counts no padding."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        packed = super().pack_documents(documents, spec)
        return replace(packed, ledger=tuple(replace(entry, padding=0) for entry in packed.ledger or ()))
