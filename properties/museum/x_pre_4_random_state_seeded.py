"""X-PRE-4: preparing seeds the global random state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PRE-4",
    area="determinism",
    suffered="preparing data changed what the rest of the program drew",
    source="own mutation",
)
class RandomStateSeeded(ReferenceImplementation):
    """Preparing seeds the global random state."""

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        np.random.seed(spec.seed)  # noqa: NPY002 - the global state is the bug
        return super().prepare(documents, spec, folder)
