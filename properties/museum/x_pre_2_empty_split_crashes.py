"""X-PRE-2: the first document is looked at although there may be none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PRE-2",
    area="offline pack",
    suffered="an empty split ended the preparation with an accident",
    source="own mutation",
)
class EmptySplitCrashes(ReferenceImplementation):
    """The first document is looked at although there may be none."""

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        documents[0]
        return super().prepare(documents, spec, folder)
