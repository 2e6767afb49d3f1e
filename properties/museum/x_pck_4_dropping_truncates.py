"""X-PCK-4: the policy to drop truncates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, Overlong, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-4",
    area="offline pack",
    suffered="fragments of documents were trained on although dropping was asked for",
    source="own mutation",
)
class DroppingTruncates(ReferenceImplementation):
    """The policy to drop truncates."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        policy = Overlong.TRUNCATE if spec.overlong == Overlong.DROP else spec.overlong
        return super().pack_documents(documents, replace(spec, overlong=policy))
