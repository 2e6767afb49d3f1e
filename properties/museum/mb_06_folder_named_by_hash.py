"""MB-06: the name of the packed file holds the hash of an object, which differs each time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-06",
    area="parquet/io / cache key",
    suffered="every launch looked for its packs in another folder and packed anew",
    source="Megatron-Bridge #4817",
)
class FolderNamedByHash(ReferenceImplementation):
    """The name of the packed file holds the hash of an object, which differs each time."""

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        files = super().prepare(documents, spec, folder)
        named = files.rows.with_stem(f"packed_{hash(object()):x}_{len(list(folder.iterdir()))}")
        return PreparedFiles(files.rows.rename(named), files.metadata)
