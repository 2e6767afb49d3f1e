"""S16: a preparation adds its entry to those that the metadata file holds already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from properties.museum.bug import bug
from reference_impl.documents import Document, PackingMetadata, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation


@bug(
    "S16",
    area="metadata / io",
    suffered="metadata grew with every run, and stale entries widened the boundary arrays",
    source="Megatron-Bridge prepare_packed_sequence_data, all versions (specification S16)",
)
class MetadataAppended(ReferenceImplementation):
    """A preparation adds its entry to those that the metadata file holds already."""

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        kept = folder / "all_metadata.json"
        entries: list[dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else []
        files = super().prepare(documents, spec, folder)
        entries.extend(asdict(entry) for entry in files.metadata)
        kept.write_text(json.dumps(entries))
        return PreparedFiles(files.rows, tuple(PackingMetadata(**entry) for entry in entries))
