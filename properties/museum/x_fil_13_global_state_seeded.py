"""X-FIL-13: the global random state is seeded for the order of documents and never restored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-FIL-13",
    area="determinism",
    suffered="packing changed what the rest of the program drew",
    source="own mutation",
)
class GlobalStateSeeded(ReferenceImplementation):
    """The global random state is seeded for the order of documents and never restored."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        np.random.seed(seed)  # noqa: NPY002 - the global state is the bug
        return super().fill(documents, bins, capacity, pad_id, seed)
