"""X-PCK-2: several EOS at the end of a document become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PCK-2",
    area="offline pack",
    suffered="real tokens at the end of documents were taken for padding",
    source="own mutation",
)
class EosTailStripped(ReferenceImplementation):
    """Several EOS at the end of a document become one."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        return super().pack_documents([_stripped(document, spec.eos_id) for document in documents], spec)


def _stripped(document: Document, eos_id: int) -> Document:
    content = np.flatnonzero(document.tokens != eos_id)
    if not len(content) or document.loss_mask is not None:
        return document
    return replace(document, tokens=document.tokens[: content[-1] + 2])
