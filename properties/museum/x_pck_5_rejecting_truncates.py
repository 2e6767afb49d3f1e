"""X-PCK-5: the policy to reject truncates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, Overlong, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-5",
    area="offline pack",
    suffered="data were cut although that was forbidden",
    source="own mutation",
)
class RejectingTruncates(ReferenceImplementation):
    """The policy to reject truncates."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        policy = Overlong.TRUNCATE if spec.overlong == Overlong.REJECT else spec.overlong
        return super().pack_documents(documents, replace(spec, overlong=policy))
