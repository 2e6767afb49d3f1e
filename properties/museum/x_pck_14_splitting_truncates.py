"""X-PCK-14: the policy to split truncates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import Document, Overlong, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-14",
    area="offline pack",
    suffered="the ends of long documents were never trained on",
    source="own mutation",
)
class SplittingTruncates(ReferenceImplementation):
    """The policy to split truncates."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        policy = Overlong.TRUNCATE if spec.overlong == Overlong.SPLIT else spec.overlong
        return super().pack_documents(documents, replace(spec, overlong=policy))
