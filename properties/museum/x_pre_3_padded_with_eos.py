"""X-PRE-3: documents are padded with EOS, whatever the pad id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PRE-3",
    area="parquet/io",
    suffered="padding was taken for the end of documents",
    source="own mutation",
)
class PaddedWithEos(ReferenceImplementation):
    """Documents are padded with EOS, whatever the pad id."""

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        return super().prepare(documents, replace(spec, pad_id=spec.eos_id), folder)
