"""MB-33: EOS is appended to every document that ends in another token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-33",
    area="dataset",
    suffered="the model was trained on an EOS that its chat template does not have",
    source="Megatron-Bridge #2699",
)
class EosAppended(ReferenceImplementation):
    """EOS is appended to every document that ends in another token."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        return super().pack_documents([_with_eos(document, spec.eos_id) for document in documents], spec)


def _with_eos(document: Document, eos_id: int) -> Document:
    if not len(document.tokens) or document.tokens[-1] == eos_id:
        return document
    mask = None if document.loss_mask is None else np.append(document.loss_mask, np.True_)
    return replace(document, tokens=np.append(document.tokens, eos_id), loss_mask=mask)
