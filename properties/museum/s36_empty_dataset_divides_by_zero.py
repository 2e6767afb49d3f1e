"""S36-dataset: a data set without documents is packed like any other."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.documents import Document, PackedDataset, PackSpec
from reference_impl.reference import ReferenceImplementation


@bug(
    "S36-dataset",
    area="offline pack",
    suffered="an empty data set ended the preparation with a ZeroDivisionError",
    source="Megatron-Bridge prepare_packed_sequence_data, all versions (specification S36)",
)
class EmptyDatasetDividesByZero(ReferenceImplementation):
    """A data set without documents is packed like any other."""

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        if not documents:
            raise ZeroDivisionError("division by zero")
        return super().pack_documents(documents, spec)
