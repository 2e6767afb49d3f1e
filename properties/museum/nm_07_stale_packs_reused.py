"""NM-07: packs that lie in the folder already are used, whatever they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation


@bug(
    "NM-07",
    area="parquet/io / cache key",
    suffered="a run trained on the packs of another tokenizer",
    source="NeMo #10898 (specification S25)",
)
class StalePacksReused(ReferenceImplementation):
    """Packs that lie in the folder already are used, whatever they were made from."""

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        rows = folder / "packed.parquet"
        metadata = self.pack_documents(documents, spec).metadata
        if not rows.exists() or metadata is None:
            return super().prepare(documents, spec, folder)
        return PreparedFiles(rows, (metadata,))
